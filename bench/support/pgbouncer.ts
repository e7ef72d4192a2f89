import { spawn, type ChildProcess } from "node:child_process"
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "pg"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "./freePort.ts"

/** A PgBouncer of the operating system's packages, in front of one server. */
export interface PgBouncer extends AsyncDisposable {
  /** The URL of a database, through the pooler. */
  readonly through: (url: string) => string
  readonly start: () => Promise<void>
  readonly pid: () => number
  /** Ends it; SIGSTOP and SIGCONT do not. */
  readonly signal: (signal: NodeJS.Signals) => Promise<void>
  /** A command of its console, such as `show pools`. */
  readonly ask: (command: string) => Promise<ReadonlyArray<Record<string, unknown>>>
}

/** `settings` as in pgbouncer.ini, of the section [pgbouncer]; `databases` of the section [databases], after the server's own. */
export const makePgBouncer = async (
  serverUrl: string,
  settings: Readonly<Record<string, string | number>> = {},
  databases: (server: string) => ReadonlyArray<string> = (server) => [`* = ${server}`]
): Promise<PgBouncer> => {
  const server = new URL(serverUrl)
  const port = await freePort()
  const directory = await mkdtemp(join(tmpdir(), "svc-pgbouncer-"))
  // As root it runs as another user, who reads these.
  await chmod(directory, 0o755)
  const [ini, users] = [join(directory, "pgbouncer.ini"), join(directory, "users.txt")]
  const password = decodeURIComponent(server.password)
  await writeFile(users, `"${server.username}" "${password}"\n`)
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    pool_mode: "transaction",
    auth_type: "scram-sha-256",
    auth_file: users,
    auth_user: server.username,
    admin_users: server.username,
    default_pool_size: 4,
    max_client_conn: 500,
    query_wait_timeout: 4,
    server_login_retry: 1,
    ...settings
  }
  await writeFile(
    ini,
    [
      "[databases]",
      ...databases(`host=${server.hostname} port=${server.port}`),
      "[pgbouncer]",
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`)
    ].join("\n")
  )
  let child: ChildProcess | undefined
  let ended = Promise.resolve<unknown>(undefined)
  const through = (url: string) => {
    const pooled = new URL(url)
    pooled.port = String(port)
    return pooled.href
  }
  const ask = async (command: string) => {
    const client = new Client({ connectionString: through(server.href).replace(/\/[^/]*$/, "/pgbouncer") })
    client.on("error", () => undefined)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(command)).rows
    } finally {
      await client.end()
    }
  }
  const start = async () => {
    const asRoot = process.getuid?.() === 0 ? ["-u", "nobody"] : []
    const started = spawn("pgbouncer", [...asRoot, ini], {
      env: { PATH: `${process.env["PATH"]}:/usr/sbin` },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let output = ""
    started.stderr.setEncoding("utf8").on("data", (text: string) => (output += text))
    child = started
    ended = new Promise((done) => started.once("close", done).once("error", done))
    for (const deadline = Date.now() + 10_000; ; await sleep(25)) {
      if (await ask("show version").catch(() => undefined)) return
      if (Date.now() < deadline && started.exitCode === null) continue
      throw new Error(`PgBouncer did not start (Debian: apt-get install pgbouncer):\n${output}`)
    }
  }
  const signal = async (name: NodeJS.Signals) => {
    child?.kill(name)
    if (name !== "SIGSTOP" && name !== "SIGCONT") await ended
  }
  await start()
  return {
    through,
    start,
    pid: () => child?.pid ?? 0,
    signal,
    ask,
    [Symbol.asyncDispose]: async () => {
      await signal("SIGKILL")
      await rm(directory, { recursive: true, force: true })
    }
  }
}
