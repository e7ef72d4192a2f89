import { spawn } from "node:child_process"
import { readdir, readFile } from "node:fs/promises"
import { Agent, request } from "node:http"
import { createServer } from "node:net"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { copyDataDir, makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { listeningAt, postmasterOf, root, runToEnd, startService, testSettings, until } from "../../support/service.ts"

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("one data directory", () => {
  let dataDir: string
  beforeAll(async () => {
    dataDir = await makeDataDir()
  })
  afterAll(() => removeDataDir(dataDir))

  it("exits on SIGTERM with code 0, despite idle keep-alive connections", async () => {
    const service = await startService({ dataDir })
    await sql(service, "create table kept (n int)")
    const agent = new Agent({ keepAlive: true })
    await new Promise<void>((resolve, reject) => {
      const call = request(`${service.url}/healthz`, { agent }, (response) => response.resume().once("end", resolve))
      call.once("error", reject).end()
    })
    const postmaster = await postmasterOf(service)
    const from = Date.now()
    const end = await service.stop("SIGTERM")
    agent.destroy()
    assert.deepStrictEqual([end.code, end.signal], [0, null], end.output)
    assert.isBelow(Date.now() - from, 5_000)
    assert.isFalse(isAlive(postmaster), "PostgreSQL outlived the service")
  })

  it("finishes requests in progress, then exits on SIGINT with code 0", async () => {
    const service = await startService({ dataDir })
    const slow = ask(service, "POST /v1/sql", {
      key: service.service_role,
      body: { sql: "with t as (insert into kept values (1)) select pg_sleep(0.5)" }
    })
    const running = async () =>
      (await sql(service, "select from pg_stat_activity where query like '%pg_sleep(0.5)' and state = 'active'")).length
    while ((await running()) === 0);
    const from = Date.now()
    const end = await service.stop("SIGINT")
    assert.deepStrictEqual([end.code, end.signal], [0, null], end.output)
    assert.isBelow(Date.now() - from, 5_000)
    assert.strictEqual((await slow).status, 200)
  })

  it("exits on SIGHUP, when its terminal is closed, and leaves no PostgreSQL behind", async () => {
    const service = await startService({ dataDir })
    const postmaster = await postmasterOf(service)
    const end = await service.stop("SIGHUP")
    assert.deepStrictEqual([end.code, end.signal], [0, null], end.output)
    assert.isFalse(isAlive(postmaster), "PostgreSQL outlived the service")
  })

  it("survives kill -9, and rejects a second process on its directory, although keys can be created", async () => {
    const first = await startService({ dataDir })
    const second = await runToEnd({ SVC_DATA_DIR: dataDir })
    assert.notStrictEqual(second.code, 0)
    assert.match(second.output, new RegExp(`^svc: The data directory \\S+ is in use by process ${first.pid}: .*\n$`))

    await sql(first, "insert into kept values (2)")
    await first.stop("SIGKILL")
    const made = await runToEnd({ SVC_DATA_DIR: dataDir }, ["dist/svc.mjs", "key", "service_role"])
    assert.strictEqual(made.code, 0, made.output)
    const key = /svc_sk_\S+/.exec(made.output)?.[0] ?? ""

    const again = await startService({ dataDir })
    assert.deepStrictEqual(await sql({ ...again, service_role: key }, "select n from kept order by n"), [
      { n: 1 },
      { n: 2 }
    ])
    assert.strictEqual((await again.stop()).code, 0)
  })
})

describe("npm", () => {
  // npm sends its signals to a shell, which forwards none of them unless it has replaced itself by the service.
  it.runIf(process.platform === "linux").each(["start", "run dev"])("%s: the service ends with it", async (command) => {
    const dataDir = await copyDataDir(inject("preparedDataDir"))
    const npm = spawn("npm", command.split(" "), {
      cwd: root,
      env: { PATH: process.env["PATH"], HOME: dataDir, ...testSettings, SVC_DATA_DIR: dataDir },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (text: Buffer) => (output += text.toString()))
    try {
      await until(() => Promise.resolve(listeningAt(output)), Boolean, 40_000)
      assert.isDefined(listeningAt(output), output)
      const pid = Number(await readFile(join(dataDir, "lock.pid"), "utf8"))
      npm.kill("SIGTERM")
      assert.isFalse(
        await until(
          () => Promise.resolve(isAlive(pid)),
          (alive) => !alive
        ),
        "the service lives on"
      )
    } finally {
      npm.kill("SIGKILL")
      await removeDataDir(dataDir)
    }
  })
})

describe("a start that fails exits with one line", () => {
  const nowhere = "postgres://nobody:secret@127.0.0.1:1/none"
  it.concurrent.each([
    ["PORT", "http", /a whole number from 0 to 65535/],
    ["SVC_DB_POOL_SIZE", "0", /a whole number from 1 to 1000/],
    ["S3_FORCE_PATH_STYLE", "always", /true or false/],
    ["DATABASE_URL", "mysql://nobody:secret@h/db", /postgres:\/\/user:password@host/]
  ])("%s=%s", async (name, value, message) => {
    const end = await runToEnd({ DATABASE_URL: nowhere, [name]: value })
    assert.strictEqual(end.code, 1, end.output)
    const lines = end.output.trimEnd().split("\n")
    assert.strictEqual(lines.length, 1, end.output)
    assert.match(lines[0] ?? "", new RegExp(`^svc: ${name} `))
    assert.match(lines[0] ?? "", message)
    assert.notInclude(end.output, "secret")
  })

  it("writes nothing if a setting is invalid, so that PostgreSQL is not initialized in vain", async () => {
    const dataDir = await makeDataDir()
    try {
      const end = await runToEnd({ SVC_DATA_DIR: dataDir, PORT: "80a" })
      assert.strictEqual(end.output, 'svc: PORT must be a whole number from 0 to 65535, but it is "80a"\n')
      assert.deepStrictEqual(await readdir(dataDir), [])
    } finally {
      await removeDataDir(dataDir)
    }
  })

  it("requires the identity provider's public URL if its admin URL is set", async () => {
    const end = await runToEnd({ DATABASE_URL: nowhere, IDP_ADMIN_URL: "http://127.0.0.1:4434" })
    assert.strictEqual(end.code, 1)
    assert.strictEqual(end.output, "svc: IDP_PUBLIC_URL must be set, because IDP_ADMIN_URL is\n")
  })

  it("names a port that is in use", async () => {
    const other = createServer()
    const port = await new Promise<number>((listening) =>
      other.listen(0, "127.0.0.1", () => listening((other.address() as { port: number }).port))
    )
    const dataDir = await makeDataDir()
    try {
      const end = await runToEnd({ SVC_DATA_DIR: dataDir, PORT: String(port) })
      assert.strictEqual(end.code, 1, end.output)
      assert.match(end.output, new RegExp(`^svc: .*127\\.0\\.0\\.1:${port}.*PORT`, "m"))
      assert.notMatch(end.output, /\n {4}at /)
    } finally {
      other.close()
      await removeDataDir(dataDir)
    }
  })
})
