import { readFile, writeFile } from "node:fs/promises"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { signedToken } from "../../../bench/isolation/callers.ts"
import { type PostgresCluster, startPostgresCluster } from "../../../bench/support/cluster.ts"
import { makePgBouncer } from "../../../bench/support/pgbouncer.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { until } from "../../support/service.ts"
import { isWithout } from "../../support/skips.ts"

let cluster: PostgresCluster
const started = new AsyncDisposableStack()
const password = "letters-digits-and-dashes"

/** The blocks of a page in this language, as they are printed. */
const blocks = async (page: string, language: string) => {
  const text = await readFile(new URL(`../../../docs/${page}`, import.meta.url), "utf8")
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, block = ""]) => block)
}
const blockWith = async (page: string, language: string, part: string) => {
  const found = (await blocks(page, language)).find((block) => block.includes(part))
  assert.isDefined(found, `${page} has no block with ${part}`)
  return found
}

/** Runs SQL as the superuser, in a database of the primary. */
const asSuperuser = async (database: string, text: string) => {
  const { password: secret, primary } = cluster
  const client = new Client({ host: "127.0.0.1", port: primary.port, user: "postgres", password: secret, database })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

const url = (port = cluster.primary.port, user = "app") => `postgres://${user}:${password}@127.0.0.1:${port}/app`

/** The addresses that docs/scaling.md prints, at the standbys of this machine, which have no certificates. */
const printedReadUrls = async () => {
  const block = await blockWith("scaling.md", "sh", "DATABASE_READ_URLS=")
  const [, printed = ""] = /DATABASE_READ_URLS="(.*)"/.exec(block) ?? []
  const [first = ""] = printed.split(" ")
  const [standby] = cluster.standbys
  return first.replace("pg-2:5432", `127.0.0.1:${standby?.port}`).replace("verify-full", "disable")
}

const settings = async () => ({
  DATABASE_URL: url(),
  DATABASE_READ_URLS: await printedReadUrls(),
  SVC_SERVICE_ROLE: "app"
})

beforeAll(async () => {
  cluster = started.use(await startPostgresCluster(1))
  for (const line of (await blockWith("operations.md", "sql", "create role app")).trim().split("\n")) {
    await cluster.primary.sql(line)
  }
  await cluster.primary.sql("alter role app login")
  await asSuperuser("app", "create view sessions as select session_user::text as login, inet_server_port() as port")
})
afterAll(() => started.disposeAsync())

/** The keys of the first start on the database, as later ones create none. */
let keys: Pick<InProcessService, "anon" | "service_role">

interface Session {
  readonly login: string
  readonly port: number
}

/** The session that serves a caller's read. */
const sessionOf = async (service: InProcessService, headers: Readonly<Record<string, string>>) => {
  const response = await fetch(`${service.url}/v1/db/sessions`, { headers })
  const text = await response.text()
  assert.strictEqual(response.status, 200, text)
  const [row] = JSON.parse(text) as ReadonlyArray<Session>
  assert.isDefined(row)
  return row
}

describe("logins", { timeout: 120_000 }, () => {
  it("on standbys are those on the primary, for each kind of caller, as the docs print the addresses", async () => {
    {
      await using service = await serveInProcess(await settings())
      keys = service
      assert.match(
        service.output(),
        /The standbys of DATABASE_READ_URLS get no reads.*As a superuser, in the database app/
      )
      assert.match(service.output(), /The standby \S+ answers, but gets no reads without event triggers/)
      assert.notMatch(service.output(), /serves reads/)
      await asSuperuser("app", "grant select on sessions to anon, authenticated, app")
      const [standby] = cluster.standbys
      for (let n = 0; n < 10; n++) {
        assert.notStrictEqual((await sessionOf(service, { apikey: keys.anon })).port, standby?.port)
      }
    }
    await asSuperuser("app", await blockWith("operations.md", "sql", "create event trigger"))
    await using service = await serveInProcess(await settings())
    assert.match(service.output(), /The standby \S+ serves reads/)
    const authorization = `Bearer ${signedToken(service.jwtSecret, "u1")}`
    const callers = [
      [{ apikey: keys.anon }, /^svc_authenticator/],
      [{ apikey: keys.anon, authorization }, /^svc_authenticator/],
      [{ apikey: keys.service_role }, /^app$/]
    ] as const
    for (const [headers, login] of callers) {
      const primary = await sessionOf(service, { ...headers, prefer: "consistency=strong" })
      assert.strictEqual(primary.port, cluster.primary.port)
      assert.match(primary.login, login)
      const there = await until(
        () => sessionOf(service, headers),
        ({ port }) => port === cluster.standbys[0]?.port
      )
      assert.strictEqual(there.login, primary.login)
    }
  })

  it.each([
    ["user", `postgres://postgres:${password}@127.0.0.1/app`],
    ["user", "postgres://postgres@127.0.0.1/app"],
    ["password", "postgres://app:other@127.0.0.1/app"]
  ])("of a read address are refused with another %s: %s", async (part, address) => {
    const given = { ...(await settings()), DATABASE_READ_URLS: address }
    const error = await serveInProcess(given).then(
      () => assert.fail("it started"),
      (cause: Error) => cause
    )
    assert.include(error.message, `DATABASE_READ_URLS has another ${part} than DATABASE_URL`)
    assert.include(error.message, "leave user and password out")
    assert.notInclude(error.message, password)
  })

  it("are the same with those of DATABASE_URL in a read address", async () => {
    const [standby] = cluster.standbys
    await using service = await serveInProcess({ ...(await settings()), DATABASE_READ_URLS: url(standby?.port) })
    const there = await until(
      () => sessionOf(service, { apikey: keys.anon }),
      ({ port }) => port === standby?.port
    )
    assert.match(there.login, /^svc_authenticator/)
  })

  it("that a standby does not admit are named in the log", async () => {
    const [standby] = cluster.standbys
    const [row] = (await standby?.sql("select current_setting('hba_file') as file")) ?? []
    const file = String(row?.["file"])
    const before = await readFile(file, "utf8")
    await writeFile(file, before.replace(/^/, "host app all 127.0.0.1/32 reject\n"))
    try {
      await standby?.sql("select pg_reload_conf()")
      await using service = await serveInProcess(await settings())
      assert.match(service.output(), /The standby \S+ does not answer \(.*pg_hba.conf rejects.*\): it serves no reads/)
      await writeFile(file, `host app app 127.0.0.1/32 scram-sha-256\nhost app all 127.0.0.1/32 reject\n${before}`)
      await standby?.sql("select pg_reload_conf()")
      await until(
        () => Promise.resolve(service.output()),
        (output) => /refuses the login of callers \(.*svc_authenticator.*\): it serves no reads/.test(output)
      )
    } finally {
      await writeFile(file, before)
      await standby?.sql("select pg_reload_conf()")
    }
  })

  it.skipIf(isWithout("pgbouncer"))(
    "pass PgBouncer, as the docs print its settings, with a direct address that has none",
    async () => {
      await asSuperuser("app", await blockWith("scaling.md", "sql", "create schema pooler"))
      const ini = await blockWith("scaling.md", "ini", "auth_query")
      const printed = Object.fromEntries(
        [...ini.matchAll(/^(auth_query|auth_type|pool_mode) = ([^;\n]*)/gm)].map(([, name, value]) => [
          name,
          value?.trim()
        ])
      ) as Record<string, string>
      assert.hasAllKeys(printed, ["auth_query", "auth_type", "pool_mode"])
      await using pooler = await makePgBouncer(url(), printed)
      await using service = await serveInProcess({
        DATABASE_URL: pooler.through(url()),
        DATABASE_DIRECT_URL: `postgres://127.0.0.1:${cluster.primary.port}/app`,
        SVC_SERVICE_ROLE: "app"
      })
      assert.match((await sessionOf(service, { apikey: keys.anon })).login, /^svc_authenticator/)
      assert.strictEqual((await sessionOf(service, { apikey: keys.service_role })).login, "app")
    }
  )
})
