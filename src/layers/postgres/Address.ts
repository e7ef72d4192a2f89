import { Context, Effect, Layer, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import { secret } from "../../domain/Settings.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { type ServerAddress, type Login, loginOf, parseServerUri, type ServerUri, type TlsFiles } from "./Login.ts"

/**
 * Address of the main database and credentials of its owner: of the embedded server, or from DATABASE_URL. The rest of
 * the program does not depend on which it is.
 */
export class PostgresAddress extends Context.Service<PostgresAddress, Login>()("svc/layers/PostgresAddress") {}

const refused = (variable: string, problem: string) => new StartError({ message: `${variable} ${problem}` })

/** Adds certificates and keys from files to TLS options. */
const withFiles = Effect.fnUntraced(function* (
  variable: string,
  ssl: ServerAddress["ssl"],
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
export const readServerUri = Effect.fnUntraced(function* (uri: Redacted.Redacted, variable: string) {
  const parsed = parseServerUri(Redacted.value(uri))
  // The value contains a password, so no message repeats it.
  if (parsed === undefined) {
    return yield* refused(
      variable,
      "must be postgres://user:password@host:port/database with sslmode disable, require, verify-ca or verify-full; with several hosts (host1:port1,host2:port2), target_session_attrs is read-write"
    )
  }
  const { at, files, ignored } = parsed
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
  const server: ServerUri = { ...parsed, at: { ...at, ssl: yield* withFiles(variable, at.ssl, files) } }
  return server
})

/** The login of a libpq URI, with the files that it names. */
const loginAt = (uri: Redacted.Redacted) => Effect.map(readServerUri(uri, "DATABASE_URL"), loginOf)

/**
 * The address of a libpq URI that is another way to the database of a login, and the URI's name for that database. A URI
 * whose credentials are not those of the login is refused rather than obeyed: callers would act with the rights of another
 * login there, which may be a superuser's.
 */
export const addressFor = Effect.fnUntraced(function* (
  { database, password, user }: Login,
  uri: Redacted.Redacted,
  variable: string
) {
  const given = yield* readServerUri(uri, variable)
  const sameUser = given.user === undefined || given.user === user
  const samePassword = given.password === undefined || Redacted.value(given.password) === Redacted.value(password)
  if (!sameUser || !samePassword) {
    return yield* refused(
      variable,
      `has another ${sameUser ? "password" : "user"} than DATABASE_URL, and only says where the server is: leave user and password out, as in postgres://host:port/database`
    )
  }
  return { at: given.at, database: given.database ?? database }
})

/** Setting for PostgreSQL's own address, where DATABASE_URL is that of a pooler. */
export const directUrl = secret("DATABASE_DIRECT_URL")

/** The PostgreSQL (15 or newer) of DATABASE_URL; of DATABASE_DIRECT_URL if DATABASE_URL is that of a pooler. */
export const layerExternal = (uri: Redacted.Redacted) =>
  Layer.effect(
    PostgresAddress,
    Effect.gen(function* () {
      const login = yield* loginAt(uri)
      const direct = yield* directUrl
      if (direct === undefined) return login
      if (login.at.servers !== undefined) {
        return yield* refused(
          "DATABASE_URL",
          "must name one host, that of the pooler, when DATABASE_DIRECT_URL is set; list PostgreSQL's servers in DATABASE_DIRECT_URL"
        )
      }
      const { at, database } = yield* addressFor(login, direct, "DATABASE_DIRECT_URL")
      return { ...login, at, database, pooler: { at: login.at, database: login.database } }
    })
  )
