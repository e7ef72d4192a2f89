import { type EventEmitter } from "node:events"
import { type Socket } from "node:net"
import { Effect, type Scope } from "effect"
import { Client, type ClientConfig } from "pg"
import { atPrimary, type Login, pgConfig } from "../Login.ts"

/** Members of the driver's client that its types do not list. */
interface ClientInternals {
  readonly processID: number
  readonly secretKey: number
  readonly connection: EventEmitter & {
    readonly stream: Socket
    readonly sendCopyFromChunk: (chunk: Buffer) => void
    readonly endCopyFrom: () => void
  }
}

export const internalsOf = (client: Client) => client as unknown as ClientInternals

/** For connections that are idle for long: a server that is gone is noticed. */
export const keptAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** A client that is not connected yet. `name` follows `svc` in `application_name`; `settings` are those of the session. */
export const newClient = (
  login: Login,
  name: string,
  settings: Readonly<Record<string, string>>,
  more: ClientConfig = {}
): Client => {
  const client = new Client({
    ...pgConfig(login, settings),
    application_name: `svc ${name}`,
    connectionTimeoutMillis: 5_000,
    ...more
  })
  // An "error" event without a handler would end the process.
  client.on("error", () => undefined)
  return client
}

const endWithin = (client: Client) =>
  Effect.promise(() => client.end().catch(() => undefined)).pipe(Effect.timeoutOption("1 second"), Effect.asVoid)

/**
 * A session at the primary until the scope closes, which also breaks off a statement in progress. `before` and `connected`
 * run around connecting.
 */
export const openClient = <E>(
  given: Login,
  {
    before,
    close = endWithin,
    connected,
    failed,
    more,
    name,
    settings
  }: {
    readonly name: string
    readonly settings: Readonly<Record<string, string>>
    readonly more?: ClientConfig
    readonly failed: (cause: unknown) => E
    readonly before?: (client: Client) => void
    readonly connected?: (socket: Socket, login: Login) => void
    readonly close?: (client: Client) => Effect.Effect<void>
  }
): Effect.Effect<Client, E, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const login = atPrimary(given)
        const client = newClient(login, name, settings, more)
        before?.(client)
        await client.connect()
        connected?.(internalsOf(client).connection.stream, login)
        return client
      },
      catch: failed
    }),
    close
  )

/** Breaks the connection when another server becomes the primary. */
export const breakWithPrimary = (socket: Socket, login: Login): void => login.at.servers?.join(socket, login.at)
