import { Effect, Layer } from "effect"
import { lookup, type LookupAddress, resolveSrv, type SrvRecord } from "node:dns"
import { isIP, Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import {
  type ConnectionCheck,
  type ConnectionTarget,
  startsWithTls,
  targetsOf,
  trustsAnyCertificate
} from "../../domain/connections/Connection.ts"
import { type ConnectionUrl } from "../../domain/connections/Url.ts"
import { isPublicAddress } from "../../domain/PublicAddress.ts"
import { ConnectionProbe } from "../../services/ports/ConnectionProbe.ts"
import { ConnectionSettings } from "../../services/connections/Settings.ts"
import { type Resolve } from "../net/Outbound.ts"
import {
  type ProbeAddress,
  ProbeFailure,
  type ProbeSuccess,
  notPublic,
  signIn,
  socketFailure
} from "./ProbePostgres.ts"

/** Resolves names. */
export interface ProbeNames {
  readonly lookup: Resolve
  readonly resolveSrv: (
    name: string,
    done: (error: NodeJS.ErrnoException | null, records: ReadonlyArray<SrvRecord>) => void
  ) => void
}

/** Timeout of the whole test, in ms. */
const timeoutMillis = 5_000
/** How many servers of a connection and addresses of a server are tried. */
const maxTargets = 10
const maxAddresses = 4

const failed = (message: string) => new ProbeFailure({ message, code: null, final: false })
// The system's code, not one of docs/errors.md.
const timedOut = "ETIMEDOUT"
const timeout = new ProbeFailure({
  message: `No response within ${timeoutMillis / 1000} s`,
  code: timedOut,
  final: false
})

const socketPath = ({ address, port }: ProbeAddress) =>
  address.startsWith("/") ? { path: address } : { host: address, port }

/** Connects, completes the TLS handshake if there is one, and disconnects. */
const connectOnly = (url: ConnectionUrl, at: ProbeAddress): Effect.Effect<ProbeSuccess, ProbeFailure> =>
  Effect.callback((resume) => {
    const from = performance.now()
    const socket = new Socket()
    const end = (result: Effect.Effect<ProbeSuccess, ProbeFailure>) => {
      socket.destroy()
      resume(result)
    }
    const succeed = () => end(Effect.succeed({ version: null, millis: performance.now() - from }))
    const fail = (cause: unknown) => end(Effect.fail(socketFailure(cause)))
    socket.on("error", fail)
    socket.once("close", () => fail(new Error("The server closed the connection")))
    socket.connect(socketPath(at), () => {
      at.check(socket)
      if (socket.destroyed) return
      if (!startsWithTls(url)) return succeed()
      const secure = connectTls({
        socket,
        host: at.host,
        ...(isIP(at.host) === 0 ? { servername: at.host } : {}),
        rejectUnauthorized: !trustsAnyCertificate(url)
      })
      secure.once("secureConnect", succeed).on("error", fail)
      return undefined
    })
    return Effect.sync(() => socket.destroy())
  })

const makeProbe = (names: ProbeNames, allowPrivate: boolean) => {
  const allowed = (address: string) => allowPrivate || isPublicAddress(address)

  const lookUp = (host: string): Effect.Effect<ReadonlyArray<string>, ProbeFailure> =>
    isIP(host) !== 0
      ? Effect.succeed([host])
      : Effect.callback((resume) =>
          names.lookup(host, { all: true }, (error, addresses: ReadonlyArray<LookupAddress>) =>
            resume(
              error === null
                ? Effect.succeed(addresses.map(({ address }) => address))
                : Effect.fail(socketFailure(error))
            )
          )
        )

  /** The allowed addresses. Connections go to these, so that a second look-up of the name can't return others. */
  const addressesOf = Effect.fnUntraced(function* ({ host, port }: ConnectionTarget) {
    if (host === "") return yield* failed("The connection string names no host")
    const check = (socket: Socket) => {
      if (!allowed(socket.remoteAddress ?? "")) socket.destroy(notPublic(host))
    }
    const found = host.startsWith("/") ? [host] : yield* lookUp(host)
    const permitted = found.filter((address) => allowed(address))
    if (permitted.length === 0) return yield* socketFailure(notPublic(host.slice(0, 255)))
    return permitted.slice(0, maxAddresses).map((address): ProbeAddress => ({ host, address, port, check }))
  })

  const targets = (url: ConnectionUrl): Effect.Effect<ReadonlyArray<ConnectionTarget>, ProbeFailure> => {
    const given = targetsOf(url)
    if (url.scheme !== "mongodb+srv") return Effect.succeed(given)
    return Effect.callback((resume) =>
      names.resolveSrv(`_mongodb._tcp.${given[0]?.host ?? ""}`, (error, records) =>
        resume(
          error === null
            ? Effect.succeed(records.map(({ name, port }) => ({ host: name, port })))
            : Effect.fail(socketFailure(error))
        )
      )
    )
  }

  const attempt = (url: ConnectionUrl, at: ProbeAddress) =>
    url.type === "postgres" ? signIn(url, at, allowPrivate) : connectOnly(url, at)

  /** Runs one after the other, each for at most its share of the time; the first success, or the last failure. */
  const firstOf = Effect.fnUntraced(function* <A, B>(
    all: ReadonlyArray<A>,
    millis: number,
    run: (one: A, millis: number) => Effect.Effect<B, ProbeFailure>
  ) {
    const until = performance.now() + millis
    let last = failed("The connection string names no server")
    for (const [i, one] of all.entries()) {
      const share = Math.max(0, until - performance.now()) / (all.length - i)
      const result = yield* Effect.result(
        Effect.timeoutOrElse(run(one, share), { duration: share, orElse: () => Effect.fail(timeout) })
      )
      if (result._tag === "Success") return result.success
      last = result.failure
      if (last.final) break
    }
    return yield* last
  })

  const testAll = (url: ConnectionUrl) =>
    Effect.flatMap(targets(url), (all) =>
      firstOf(all.slice(0, maxTargets), timeoutMillis, (target, millis) =>
        Effect.flatMap(addressesOf(target), (addresses) => firstOf(addresses, millis, (at) => attempt(url, at)))
      )
    )

  const check = (url: ConnectionUrl): Effect.Effect<ConnectionCheck> =>
    Effect.suspend(() => {
      const from = performance.now()
      const checked = url.type === "postgres" ? "query" : startsWithTls(url) ? "tls" : "tcp"
      return Effect.timeoutOrElse(testAll(url), {
        duration: timeoutMillis,
        orElse: () => Effect.fail(timeout)
      }).pipe(
        Effect.match({
          onSuccess: ({ millis, version }): ConnectionCheck => ({
            ok: true,
            checked,
            latency_ms: Math.round(millis),
            error: null,
            code: null,
            server_version: version
          }),
          onFailure: ({ code, message }): ConnectionCheck => ({
            ok: false,
            checked,
            latency_ms: Math.round(performance.now() - from),
            error: message,
            code,
            server_version: null
          })
        })
      )
    })

  return { check }
}

/** Resolves names by `names`. */
export const layerConnectionProbeWith = (names: ProbeNames) =>
  Layer.effect(
    ConnectionProbe,
    Effect.map(ConnectionSettings, ({ allowPrivate }) => ConnectionProbe.of(makeProbe(names, allowPrivate)))
  )

export const layerConnectionProbe = layerConnectionProbeWith({ lookup, resolveSrv })
