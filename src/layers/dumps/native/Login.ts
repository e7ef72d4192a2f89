import { Effect, type Redacted } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type ConnectionOptions, getCACertificates } from "node:tls"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type Login } from "../../postgres/Login.ts"
import { asUser } from "../../postgres/embedded/User.ts"

/** Environment variables of a program; secrets are Redacted. */
export type ProgramEnv = Readonly<Record<string, string | Redacted.Redacted>>

/** libpq's name of how a login verifies the server's certificate. */
const sslMode = (ssl: Login["ssl"]) => {
  if (ssl === false) return "disable"
  if (ssl.rejectUnauthorized === false) return "require"
  return ssl.checkServerIdentity === undefined ? "verify-full" : "verify-ca"
}

/** The environment of every PostgreSQL program: nothing from the service's own, no files of its user, English messages. */
export const bareEnv = (ssl: Login["ssl"]): ProgramEnv => ({
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

/** File with these certificates for libpq; removed when the scope closes. */
const authoritiesFile = (ssl: ConnectionOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const directory = await mkdtemp(join(tmpdir(), "svc-tls-"))
        await writeFile(join(directory, "ca.pem"), authorities(ssl), { mode: 0o600 })
        return directory
      },
      catch: (cause) => new DumpFailed({ reason: `Failed to write the trusted certificates: ${String(cause)}` })
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }).catch(() => undefined))
  ).pipe(Effect.map((directory) => join(directory, "ca.pem")))

/**
 * Environment that connects with this login.
 *
 * @param name application_name of its sessions
 */
export const loginEnv = Effect.fnUntraced(function* (login: Login, name: string) {
  const bare = bareEnv(login.ssl)
  const verifying = login.ssl !== false && login.ssl.rejectUnauthorized !== false
  const env: ProgramEnv = {
    ...bare,
    ...(verifying ? { PGSSLROOTCERT: yield* authoritiesFile(login.ssl) } : {}),
    PGHOST: login.host,
    PGPORT: String(login.port),
    PGUSER: login.user,
    PGPASSWORD: login.password,
    PGAPPNAME: name,
    // In seconds; a copy of the database makes new connections wait.
    PGCONNECT_TIMEOUT: "600",
    PGGSSENCMODE: "disable"
  }
  return env
})

/** The database as a connection string, as a bare name may contain `=`. Keepalives detect a dead peer. */
export const databaseArgument = (database: string) =>
  `dbname='${database.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}' keepalives_idle=60 keepalives_interval=10 keepalives_count=6`
