import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { Client, type ClientConfig } from "pg"
import { assert, describe, inject, it } from "vitest"
import { runToEnd } from "../../support/service.ts"

const service = inject("service")
const program = ["dist/svc.mjs", "psql"]
const dbUrl = ["dist/svc.mjs", "db-url"]
const env = { SVC_DATA_DIR: service.dataDir }

/** Whether this leads to the service's database. */
const leadsThere = async (config: ClientConfig) => {
  const client = new Client(config)
  await client.connect()
  const { rows } = await client.query<{ n: number }>("select count(*)::int as n from svc.api_keys ")
  await client.end()
  return (rows[0]?.n ?? 0) > 0
}

describe("svc db-url", () => {
  it("prints the URL of the embedded server, or DATABASE_URL", async () => {
    const { code, output } = await runToEnd(env, dbUrl)
    assert.strictEqual(code, 0, output)
    assert.match(output, /^postgres:\/\/postgres:\S+@127\.0\.0\.1:\d+\/postgres\n$/)
    assert.isTrue(await leadsThere({ connectionString: output.trim() }))
    const given = "postgres://someone:secret@db.example.com/theirs?sslmode=verify-full"
    assert.strictEqual((await runToEnd({ DATABASE_URL: given }, dbUrl)).output, `${given}\n`)
  })

  it("says that the server is not running", async () => {
    const { code, output } = await runToEnd({}, dbUrl)
    assert.strictEqual(code, 1)
    assert.match(output, /^svc: The PostgreSQL of \S+ \(SVC_DATA_DIR\) is not running: start the service.*\n$/)
  })
})

describe("svc psql", () => {
  it("runs psql on the database, without a password in its arguments, and exits as it does", async () => {
    const directory = await mkdtemp(join(tmpdir(), "svc-psql-"))
    try {
      // In place of psql: reports what it gets.
      const script = `#!/bin/sh\nexec node -e 'console.log(JSON.stringify([process.argv.slice(1), process.env])); process.exit(3)' -- "$@"\n`
      await writeFile(join(directory, "psql"), script)
      await chmod(join(directory, "psql"), 0o755)
      const PATH = [directory, process.env["PATH"]].join(delimiter)
      const run = (more: Readonly<Record<string, string>>) =>
        runToEnd({ ...more, PATH }, [...program, "-c", "select 1"])
      const { code, output } = await run(env)
      assert.strictEqual(code, 3, output)
      const [args, variables] = JSON.parse(output) as [ReadonlyArray<string>, Record<string, string>]
      assert.deepStrictEqual(args, ["-c", "select 1"])
      const { PGDATABASE, PGHOST, PGPASSWORD, PGPORT, PGUSER } = variables
      assert.isTrue(
        await leadsThere({
          host: PGHOST ?? "",
          port: Number(PGPORT),
          user: PGUSER ?? "",
          password: PGPASSWORD ?? "",
          database: PGDATABASE ?? ""
        })
      )
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it("says what to do where there is no psql", async () => {
    const { code, output } = await runToEnd({ ...env, PATH: "/nonexistent" }, program)
    assert.strictEqual(code, 1)
    assert.match(output, /^svc: psql was not found: .*svc db-url\n$/)
  })
})
