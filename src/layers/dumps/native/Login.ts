import { Effect, type Redacted } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type ServerAddress, atPrimary, type Login } from "../../postgres/Login.ts"
import { asUser } from "../../postgres/embedded/User.ts"

/** Environment variables of a program; secrets are Redacted. */
export type ProgramEnv = Readonly<Record<string, string | Redacted.Redacted>>

/** libpq's name of how a login verifies the server's certificate. */
const sslMode = (ssl: ServerAddress["ssl"]) => {
  if (ssl === false) return "disable"
  if (ssl.rejectUnauthorized === false) return "require"
  return ssl.checkServerIdentity === undefined ? "verify-full" : "verify-ca"
}

/** The environment of every PostgreSQL program: nothing from the service's own, no files of its user, English messages. */
export const bareEnv = (ssl: ServerAddress["ssl"]): ProgramEnv => ({
  ...asUser(undefined).env,
  // libpq searches it for passwords and certificates.
  HOME: "/nonexistent",
  LC_ALL: "C",
  PG_COLOR: "never",
  PGSSLMODE: sslMode(ssl)
})

/** Trusted CA certificates as PEM; Node's depend on NODE_EXTRA_CA_CERTS and --use-system-ca. */
const authorities = ({ ca }: ConnectionOptions) =>
  (ca === undefined ? getCACertificates("default") : [ca].flat()).map(String).join("\n")

/** Files for libpq with these certificates, and the client's own if it has one; removed when the scope closes. */
const tlsFiles = (ssl: ConnectionOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () => mkdtemp(join(tmpdir(), "svc-tls-")),
      catch: (cause) => new DumpFailed({ reason: `Failed to create a directory for certificates: ${String(cause)}` })
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }).catch(() => undefined))
  ).pipe(
    Effect.flatMap((directory) =>
      Effect.tryPromise({
        try: async () => {
          const write = async (name: string, content: string) => {
            await writeFile(join(directory, name), content, { mode: 0o600 })
            return join(directory, name)
          }
          return {
            ...(ssl.rejectUnauthorized === false ? {} : { PGSSLROOTCERT: await write("ca.pem", authorities(ssl)) }),
            ...(ssl.cert === undefined ? {} : { PGSSLCERT: await write("client.pem", String(ssl.cert)) }),
            ...(ssl.key === undefined ? {} : { PGSSLKEY: await write("client.key", String(ssl.key)) })
          }
        },
        catch: (cause) => new DumpFailed({ reason: `Failed to write the certificates: ${String(cause)}` })
      })
    )
  )

/**
 * Environment that connects with this login.
 *
 * @param name application_name of its sessions
 */
export const loginEnv = Effect.fnUntraced(function* (login: Login, name: string) {
  const bare = bareEnv(login.at.ssl)
  const { host, port } = atPrimary(login).at
  const env: ProgramEnv = {
    ...bare,
    ...(login.at.ssl === false ? {} : yield* tlsFiles(login.at.ssl)),
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: login.user,
    PGPASSWORD: login.password,
    PGAPPNAME: name,
    // The timeout in seconds is long because a copy of the database makes new connections wait.
    PGCONNECT_TIMEOUT: "600",
    PGGSSENCMODE: "disable"
  }
  return env
})

/** The database as a connection string, as a bare name may contain `=`. Keepalives detect a dead peer. */
export const databaseArgument = (database: string) =>
  `dbname='${database.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}' keepalives_idle=60 keepalives_interval=10 keepalives_count=6`
