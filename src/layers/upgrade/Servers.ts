import { Effect, Redacted } from "effect"
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type PostgresBinaries } from "../postgres/embedded/Binaries.ts"
import { launch, socketDirectory, stop, whenReady } from "../postgres/embedded/Server.ts"
import { type PostgresUser } from "../postgres/embedded/User.ts"
import { connectDirectly } from "../postgres/client/DirectConnection.ts"
import { type Login } from "../postgres/Login.ts"
import { attempt, StartError } from "../process/StartError.ts"

/** Where the servers of an upgrade have their sockets and files. */
export interface PrivatePlace {
  readonly user: PostgresUser
  /** A directory that only the user can enter. */
  readonly directory: string
  readonly socket: string
}

/** Prepares a directory, which the user must be able to reach. */
export const privatePlace = Effect.fnUntraced(function* (directory: string, user: PostgresUser) {
  const own = async (path: string) => {
    if (user !== undefined) await chown(path, user.uid, user.gid)
    return path
  }
  const what = `Failed to prepare ${directory}`
  yield* attempt(what, async () => {
    await own(directory)
    for (const [name, content] of [
      ["pg_hba.conf", "local all all trust\n"],
      ["pg_ident.conf", ""]
    ] as const) {
      await writeFile(join(directory, name), content, { mode: 0o600 })
      await own(join(directory, name))
    }
  })
  const socket =
    socketDirectory(directory) ??
    (yield* Effect.acquireRelease(
      attempt(what, async () => await own(await mkdtemp(join(tmpdir(), "svc-")))),
      (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
    ))
  return { user, directory, socket } satisfies PrivatePlace
})

/** Settings by which a server does nothing but what the upgrade asks for. */
const quiet = ({ directory, socket }: PrivatePlace) => ({
  listen_addresses: "",
  unix_socket_directories: socket,
  unix_socket_permissions: "0700",
  hba_file: join(directory, "pg_hba.conf"),
  ident_file: join(directory, "pg_ident.conf"),
  ssl: "off",
  archive_mode: "off",
  autovacuum: "off",
  max_logical_replication_workers: "0"
})

/**
 * Starts a server that only its user and root can reach, without a password, until the scope closes.
 *
 * @param name of its log file
 * @param port part of the name of its socket, which the cluster remembers
 */
export const startPrivately = Effect.fnUntraced(function* (
  place: PrivatePlace,
  name: "old" | "new",
  binaries: PostgresBinaries,
  cluster: string,
  port: number,
  settings: Readonly<Record<string, string>>
) {
  const server = {
    binaries,
    user: place.user,
    cluster,
    log: join(place.directory, `${name}.log`),
    port,
    connections: undefined,
    settings: { ...quiet(place), ...settings }
  }
  const started = yield* Effect.acquireRelease(launch(server), (started) =>
    Effect.ignore(stop(started, binaries), { log: "Error" })
  )
  yield* whenReady(server, started, 0)
  const login: Login = {
    at: { host: place.socket, port, ssl: false },
    user: "postgres",
    password: Redacted.make(""),
    database: "template1"
  }
  return login
})

/** Settings by which values are written in the same form by both servers. */
const forms = {
  timezone: "UTC",
  datestyle: "ISO",
  intervalstyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  lc_monetary: "C",
  xmloption: "content",
  default_transaction_read_only: "off",
  row_security: "off"
}

/** Asks a database of a server; its failures are lines for the operator. */
export const askDatabase = Effect.fnUntraced(function* (login: Login, database: string) {
  const failed = ({ message }: { readonly message: string }) =>
    new StartError({ message: `Database ${database} of the upgrade: ${message}` })
  const { query } = yield* Effect.mapError(connectDirectly({ ...login, database }, forms), failed)
  return (text: string, params?: ReadonlyArray<unknown>) => Effect.mapError(query(text, params), failed)
})

/** Asks a database for rows. */
export type Ask = Effect.Success<ReturnType<typeof askDatabase>>
