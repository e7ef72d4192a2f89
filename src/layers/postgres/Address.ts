import { Context, Effect, Layer, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import { secret } from "../../domain/Settings.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { type Login, parseLoginUri, type TlsFiles } from "./Login.ts"

/**
 * Address of the main database and credentials of its owner: of the embedded server, or from DATABASE_URL. The rest of
 * the program does not depend on which it is.
 */
export class PostgresAddress extends Context.Service<PostgresAddress, Login>()("svc/layers/PostgresAddress") {}

const refused = (variable: string, problem: string) => new StartError({ message: `${variable} ${problem}` })

/** Adds certificates and keys from files to TLS options. */
const withFiles = Effect.fnUntraced(function* (
  variable: string,
  ssl: Login["ssl"],
  { sslcert, sslkey, sslrootcert }: TlsFiles
) {
  const read = (name: string, path: string | undefined) =>
    path === undefined
      ? Effect.undefined
      : attempt(`Failed to read ${path} (${name} in ${variable})`, () => readFile(path, "utf8"))
  if ((sslcert === undefined) !== (sslkey === undefined)) {
    return yield* refused(variable, "must have both sslcert and sslkey, or neither")
  }
  const ca = sslrootcert === "system" ? getCACertificates("system").join("\n") : yield* read("sslrootcert", sslrootcert)
  const [cert, key] = [yield* read("sslcert", sslcert), yield* read("sslkey", sslkey)]
  if (ca === undefined && cert === undefined) return ssl
  if (ssl === false) return yield* refused(variable, "names files of certificates, which require sslmode=verify-full")
  const options: ConnectionOptions = { ...ssl, ...(ca !== undefined && { ca }), ...(cert && key && { cert, key }) }
  return options
})

/** Reads a libpq URI with the files that it names. `variable`: the setting that errors are about. */
export const addressOf = Effect.fnUntraced(function* (uri: Redacted.Redacted, variable = "DATABASE_URL") {
  const parsed = parseLoginUri(Redacted.value(uri))
  // The value contains a password, so no message repeats it.
  if (parsed === undefined) {
    return yield* refused(
      variable,
      "must be postgres://user:password@host:port/database with sslmode disable, require, verify-ca or verify-full; with several hosts (host1:port1,host2:port2), target_session_attrs is read-write"
    )
  }
  const { files, ignored, login } = parsed
  const unsafe = ignored.find((name) => /^ssl|^require/.test(name))
  if (unsafe !== undefined) {
    return yield* refused(
      variable,
      `has the parameter ${unsafe.slice(0, 50)}, which is not supported: use sslmode, sslrootcert, sslcert and sslkey`
    )
  }
  if (ignored.length > 0) {
    const names = ignored.slice(0, 10).map((name) => name.slice(0, 50))
    yield* Effect.logWarning(`Parameters of ${variable} were ignored: ${names.join(", ")}`)
  }
  return { ...login, ssl: yield* withFiles(variable, login.ssl, files) }
})

/** Setting for PostgreSQL's own address, where DATABASE_URL is that of a pooler. */
export const directUrl = secret("DATABASE_DIRECT_URL")

/** The PostgreSQL (15 or newer) of DATABASE_URL; of DATABASE_DIRECT_URL if DATABASE_URL is that of a pooler. */
export const layerExternal = (uri: Redacted.Redacted) =>
  Layer.effect(
    PostgresAddress,
    Effect.gen(function* () {
      const login = yield* addressOf(uri)
      const direct = yield* directUrl
      if (direct === undefined) return login
      const { database, host, password, port, servers, ssl, user } = login
      if (servers !== undefined) {
        return yield* refused(
          "DATABASE_URL",
          "must name one host, that of the pooler, when DATABASE_DIRECT_URL is set; list PostgreSQL's servers in DATABASE_DIRECT_URL"
        )
      }
      const own = yield* addressOf(direct, "DATABASE_DIRECT_URL")
      if (own.user !== user || Redacted.value(own.password) !== Redacted.value(password)) {
        return yield* refused("DATABASE_DIRECT_URL", "must have the user and the password of DATABASE_URL")
      }
      return { ...own, pooler: { host, port, database, ssl } }
    })
  )
