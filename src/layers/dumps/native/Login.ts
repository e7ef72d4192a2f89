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

/** libpq's name for how a login checks the server's certificate. */
const sslMode = (ssl: Login["ssl"]) => {
  if (ssl === false) return "disable"
  if (ssl.rejectUnauthorized === false) return "require"
  return ssl.checkServerIdentity === undefined ? "verify-full" : "verify-ca"
}

/** What every program of PostgreSQL is started with: nothing of ours, no files of whoever we are, messages in English. */
export const bareEnv = (ssl: Login["ssl"]): ProgramEnv => ({
  ...asUser(undefined).env,
  // libpq looks here for passwords and certificates.
  HOME: "/nonexistent",
  LC_ALL: "C",
  PG_COLOR: "never",
  PGSSLMODE: sslMode(ssl)
})

/** Whom we trust as PEM, which for Node depends on NODE_EXTRA_CA_CERTS and --use-system-ca. */
const authorities = ({ ca }: ConnectionOptions) =>
  (ca === undefined ? getCACertificates("default") : [ca].flat()).map(String).join("\n")

/** File of those for libpq, which knows none of them; gone when the scope closes. */
const authoritiesFile = (ssl: ConnectionOptions) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const directory = await mkdtemp(join(tmpdir(), "svc-tls-"))
        await writeFile(join(directory, "ca.pem"), authorities(ssl), { mode: 0o600 })
        return directory
      },
      catch: (cause) => new DumpFailed({ reason: `The certificates to trust can't be written: ${String(cause)}` })
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }).catch(() => undefined))
  ).pipe(Effect.map((directory) => join(directory, "ca.pem")))

/**
 * Environment to come in as this login.
 *
 * @param name what its sessions are called in pg_stat_activity
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
    // As long as a copy of the database may keep whoever comes waiting.
    PGCONNECT_TIMEOUT: "600",
    PGGSSENCMODE: "disable"
  }
  return env
})

/** The database as an argument: a bare name with `=` in it would be read as more than a name. A dead peer is noticed. */
export const databaseArgument = (database: string) =>
  `dbname='${database.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}' keepalives_idle=60 keepalives_interval=10 keepalives_count=6`
