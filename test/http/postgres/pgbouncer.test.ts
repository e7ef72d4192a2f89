import { Client } from "pg"
import { afterAll, afterEach, assert, beforeAll, describe, inject, it } from "vitest"
import { signedToken } from "../../../bench/isolation/callers.ts"
import { defaults, runIsolation, setUp } from "../../../bench/isolation/run.ts"
import { makePgBouncer, type PgBouncer } from "../../../bench/support/pgbouncer.ts"
import { backupOver, backUp } from "../../support/backups/calls.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { until } from "../../support/service.ts"
import { isWithout } from "../../support/skips.ts"
import { startReceiver } from "../../support/webhooks/receiver.ts"

const behind = (pooler: PgBouncer) => (url: string) => ({ DATABASE_URL: pooler.through(url), DATABASE_DIRECT_URL: url })

describe.skipIf(isWithout("pgbouncer"))("behind PgBouncer in transaction mode", () => {
  let pooler: PgBouncer
  let service: InProcessService
  let direct: Client
  const started = new AsyncDisposableStack()

  const setup = `
    create table notes (id int generated always as identity primary key, owner text default current_setting('request.jwt.sub', true), body text);
    alter table notes enable row level security;
    create policy own on notes using (owner = current_setting('request.jwt.sub', true));
    grant all on notes to anon, authenticated;
    create table events (id int primary key, body text);
    create table parents (id int primary key);
    create table children (id int primary key, parent int references parents deferrable initially deferred);
    create sequence counting;
    grant all on sequence counting to anon, authenticated;
    create function dirty(statement text) returns int language plpgsql as $$ begin execute statement; return 1; end $$;
    create function dirty_and_fail(statement text) returns int language plpgsql as $$
      begin execute statement; raise exception 'failed'; end $$;
    create function session_state() returns jsonb language plpgsql as $body$
      declare last bigint;
      begin
        begin last = lastval(); exception when others then last = null; end;
        return jsonb_build_object(
          'user', current_user, 'session', session_user, 'role', current_setting('role'),
          'claims', current_setting('request.jwt.claims'), 'sub', current_setting('request.jwt.sub'),
          'settings', (select jsonb_object_agg(name, setting) from pg_settings where name <> 'transaction_read_only'),
          'own', coalesce(current_setting('leak.x', true), ''),
          'temporary', (select coalesce(jsonb_agg(relname), '[]') from pg_class where relnamespace = pg_my_temp_schema()),
          'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
          'channels', (select coalesce(jsonb_agg(c), '[]') from pg_listening_channels() c),
          'cursors', (select coalesce(jsonb_agg(name), '[]') from pg_cursors where is_holdable),
          'prepared', (select count(*) from pg_prepared_statements),
          'last', last);
      end $body$;`

  beforeAll(async () => {
    // One session for each login, so that each caller has that of the caller before.
    pooler = started.use(await makePgBouncer(inject("databaseUrl"), { default_pool_size: 1 }))
    service = started.use(
      await serveInProcess(
        {
          SVC_DB_SCHEMAS: "public,other",
          SVC_DB_TIMEOUT: "4s",
          WEBHOOK_ALLOW_PRIVATE: "true",
          SVC_BRANCH_END_SESSIONS: "false"
        },
        behind(pooler)
      )
    )
    const owner = new Client({ connectionString: service.databaseUrl })
    await owner.connect()
    await owner.query(setup)
    await owner.end()
    // In another database of the server: that of the service is copied.
    direct = new Client({ connectionString: inject("databaseUrl") })
    await direct.connect()
    started.defer(() => direct.end())
  })
  afterEach(endFeeds)
  afterAll(() => started.disposeAsync())

  const asUser = (user: string, line: string, body?: unknown) =>
    ask(service, line, {
      key: service.anon,
      token: signedToken(service.jwtSecret, user),
      ...(body !== undefined && { body })
    })
  const runSql = (body: object, path = "") => ask(service, `POST /v1/sql${path}`, { key: service.service_role, body })
  /** Sessions of PostgreSQL in the service's database. */
  const sessions = async () => {
    const name = new URL(service.databaseUrl).pathname.slice(1)
    return (await direct.query("select from pg_stat_activity where datname = $1", [name])).rows.length
  }

  it("serves rows with the claims of each caller", async () => {
    for (const user of ["ann", "bob"]) {
      const made = await asUser(user, "POST /v1/db/notes", { body: `${user}'s` })
      assert.strictEqual(made.status, 201, made.text)
    }
    for (const user of ["ann", "bob", "ann"]) {
      const { json } = await asUser(user, "GET /v1/db/notes?select=owner,body")
      assert.deepStrictEqual(json, [{ owner: user, body: `${user}'s` }])
    }
    assert.deepStrictEqual((await ask(service, "GET /v1/db/notes", { key: service.anon })).json, [])
    const changed = await asUser("ann", "PATCH /v1/db/notes?owner=eq.ann", { body: "new" })
    assert.deepInclude((changed.json as ReadonlyArray<object>)[0], { body: "new" })
    assert.deepStrictEqual((await asUser("ann", "DELETE /v1/db/notes?owner=eq.bob")).json, [])
  })

  const dirt = [
    "select set_config('request.jwt.claims', 'stale', false), set_config('request.jwt.sub', 'stale', false)",
    "select set_config('leak.x', 'stale', false)",
    "set role none",
    "set role authenticated",
    "set search_path = pg_temp, pg_catalog",
    "set timezone = 'Asia/Tokyo'",
    "set datestyle = 'German'",
    "set client_encoding = 'LATIN1'",
    "set application_name = 'somebody'",
    "set standard_conforming_strings = off",
    "set statement_timeout = 77000",
    "set lock_timeout = 1",
    "set default_transaction_read_only = on",
    "set default_transaction_deferrable = on",
    "set session characteristics as transaction isolation level serializable",
    "set row_security = off",
    "create temporary table notes (id int, owner text, body text)",
    "select pg_advisory_lock(4711)",
    "listen leaked",
    "declare leaked cursor with hold for select 1",
    "prepare leaked as select 1",
    "deallocate all",
    "select nextval('counting')"
  ]

  it.each(["anon", "service_role"] as const)(
    "leaves nothing of a caller's code to the next one, of %s",
    async (role) => {
      const call = (name: string, body: object) => ask(service, `POST /v1/db/rpc/${name}`, { key: service[role], body })
      const locks = () =>
        direct.query(`select from pg_locks where locktype = 'advisory' and objid = 4711
          and database = (select oid from pg_database where datname = current_database())`)
      const before = await call("session_state", {})
      assert.strictEqual(before.status, 200, before.text)
      for (const statement of dirt) {
        for (const name of ["dirty", "dirty_and_fail"]) {
          const { status, text } = await call(name, { statement })
          assert.oneOf(status, name === "dirty" ? [200] : [400], `${statement}: ${text}`)
          // What failed is rolled back behind the answer.
          const { rowCount } = await until(locks, ({ rowCount }) => rowCount === 0)
          assert.strictEqual(rowCount, 0, "the lock is still held")
          const after = await call("session_state", {})
          assert.deepStrictEqual(after.json, before.json, `after ${name}: ${statement}`)
        }
      }
    }
  )

  it("meets nothing that other programs have left in the pooler's sessions", async () => {
    const key = service.service_role
    const state = async () => (await ask(service, "POST /v1/db/rpc/session_state", { key, body: {} })).json
    const before = await state()
    await sql(service, "create schema hidden")
    await sql(service, "create table hidden.events (id int primary key, body text)")
    const left = [
      "set search_path = hidden",
      "create temporary table notes (id int, owner text, body text)",
      "set client_encoding = 'LATIN1'",
      "set session_replication_role = replica",
      "select pg_advisory_lock(4711)",
      "prepare left_there as select 1",
      "set default_transaction_read_only = on",
      "set role pg_monitor"
    ]
    for (const request of [
      () => ask(service, "POST /v1/db/events", { key, body: { id: 20, body: "é" } }),
      () => ask(service, "POST /api/keys", { key, body: { keyType: "anon" } }),
      () => runSql({ sql: "insert into public.events values (21, 'é')" })
    ]) {
      const other = new Client({ connectionString: pooler.through(service.databaseUrl) })
      other.on("error", () => undefined)
      await other.connect()
      for (const statement of left) await other.query(statement)
      await other.end()
      const { status, text } = await request()
      assert.oneOf(status, [200, 201], text)
      assert.deepStrictEqual(await state(), before)
    }
    const { rows } = await runSql({ sql: "select body from public.events where id in (20, 21)" }).then(
      ({ json }) => json as { readonly rows: ReadonlyArray<unknown> }
    )
    assert.deepStrictEqual(rows, [{ body: "é" }, { body: "é" }])
    await sql(service, "drop schema hidden cascade")
  })

  it("runs /v1/sql, whose sessions are new as well", async () => {
    const state = async () => (await sql(service, "select session_state() as s"))[0]?.["s"]
    const before = await state()
    for (const statement of [
      "select set_config('role', 'anon', false), set_config('search_path', '', false), pg_advisory_lock(4711)",
      "select dirty('listen leaked'), dirty('set session authorization anon')",
      "with made as (select dirty('create temporary table passing (a int)')) select * from made"
    ]) {
      await sql(service, statement)
      assert.deepStrictEqual(await state(), before, statement)
    }
    const failed = await runSql(
      { statements: [{ sql: "select pg_advisory_lock(4711)" }, { sql: "select 1/0" }] },
      "/transaction"
    )
    assertRefused(failed, 400, "22012")
    assert.deepStrictEqual(await state(), before)
    assert.deepStrictEqual(await sql(service, "insert into events values (1, $1) returning body", ["é"]), [
      { body: "é" }
    ])
    assertRefused(await runSql({ sql: "insert into children values (1, 1)" }), 409, "23503")
    assertRefused(await runSql({ sql: "insert into events values (2, 'x')", read_only: true }), 405, "25006")
    assertRefused(await runSql({ sql: "select pg_sleep(5)", timeout: 50 }), 504, "57014")
    for (const statement of [
      "vacuum events",
      "create index concurrently on events (body)",
      "do $$ begin commit; end $$"
    ]) {
      assert.strictEqual((await runSql({ sql: statement })).status, 200, statement)
    }
    const both = {
      statements: [{ sql: "insert into parents values (2)" }, { sql: "insert into children values (2, 2)" }]
    }
    assert.strictEqual((await runSql(both, "/transaction")).status, 200)
    const claims = await ask(service, "POST /v1/sql", {
      key: service.service_role,
      token: signedToken(service.jwtSecret, "ann"),
      body: { sql: "select current_setting('request.jwt.sub') as sub, current_setting('application_name') as name" }
    })
    assert.deepInclude((claims.json as { rows: ReadonlyArray<object> }).rows[0], { sub: "ann", name: "svc sql" })
  })

  it("sees new definitions at once", async () => {
    await sql(service, "create table growing (a int)")
    await sql(service, "grant all on growing to anon")
    for (let n = 0; n < 3; n++) {
      await sql(service, `alter table growing add column c${n} int`)
      const { json } = await ask(service, "POST /v1/db/growing", { key: service.anon, body: { [`c${n}`]: n } })
      assert.deepInclude((json as ReadonlyArray<object>)[0], { [`c${n}`]: n })
    }
  })

  it("delivers events and webhooks, branches and backs up", async () => {
    await using receiver = await startReceiver()
    const key = service.service_role
    await subscribe(service, "events")
    const body = { name: "w", table_name: "events", url: `${receiver.url}/hook`, events: ["INSERT"] }
    assert.strictEqual((await ask(service, "POST /api/webhooks", { key, body })).status, 201)
    const feed = await openFeed(service, { key })
    const made = await ask(service, "POST /v1/db/events", { key, body: { id: 10, body: "new" } })
    assert.strictEqual(made.status, 201, made.text)
    await feed.upTo(({ row }) => row?.["id"] === 10)
    await receiver.count("/hook", 1)
    const branch = await ask(service, "POST /api/branches", { key, body: { label: "release" } })
    assert.oneOf(branch.status, [201, 202], branch.text)
    assert.strictEqual((await ask(service, "GET /v1/db/events?id=eq.10", { key })).status, 200)
    const { id } = await backUp(service)
    assert.strictEqual((await backupOver(service, id)).status, "completed")
    assert.strictEqual((await ask(service, "GET /readyz")).status, 200)
  })

  it("uses few sessions for many requests", async () => {
    await pooler.ask("set default_pool_size = 3")
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, n) => asUser(`user${n}`, "POST /v1/db/notes", { body: String(n) }))
    )
    assert.deepStrictEqual(new Set(all.map(({ status }) => status)), new Set([201]))
    const pools = await pooler.ask("show pools")
    const mine = pools.filter(({ database }) => database === new URL(service.databaseUrl).pathname.slice(1))
    for (const { cl_active, cl_waiting, sv_active, sv_idle, sv_used, user } of mine) {
      assert.isAtMost(Number(sv_active) + Number(sv_idle) + Number(sv_used), 3, String(user))
      assert.isAtMost(Number(cl_active) + Number(cl_waiting), 40, String(user))
    }
    // Those of the pooler; for LISTEN, the wake-up of webhooks, and locks of the tests before.
    assert.isAtMost(await sessions(), 2 * 3 + 4)
  })

  it("serves others while clients hang up", async () => {
    await pooler.ask("set default_pool_size = 3")
    const statement = { sql: "select 1 from pg_sleep(0.01)" }
    for (let round = 0; round < 4; round++) {
      const leaving = new AbortController()
      const left = Array.from({ length: 32 }, (_, n) =>
        ask(service, n % 2 === 0 ? "POST /v1/sql" : "GET /v1/db/events?select=id", {
          key: service.service_role,
          signal: leaving.signal,
          ...(n % 2 === 0 && { body: statement })
        }).catch(() => undefined)
      )
      await new Promise((done) => setTimeout(done, 5 + 10 * round))
      leaving.abort()
      const stayed = await Promise.all(Array.from({ length: 64 }, () => runSql(statement)))
      for (const { status, text } of stayed) assert.strictEqual(status, 200, `${text} ${service.output().slice(-3000)}`)
      await Promise.all(left)
    }
  })

  it("no caller gets, changes or loses rows because of another", { timeout: 240_000 }, async () => {
    await pooler.ask("set default_pool_size = 6")
    await pooler.ask("set query_wait_timeout = 20")
    await setUp(service, 100)
    const options = { users: 100, answers: 1_500, ddlEvery: 500, killEvery: 400, concurrency: 16, hangUps: 0.02 }
    const { examples, ...report } = await runIsolation(service, {
      ...defaults,
      ...options,
      seed: Date.now() % 1_000_000
    })
    for (const happened of ["poisons", "hungUp", "ddl", "kills", "audited"] as const) {
      assert.isAbove(report[happened], 0, happened)
    }
    const none = { foreign: 0, missing: 0, leftover: 0, error: 0, lost: 0, duplicate: 0 }
    assert.deepStrictEqual(report.findings, none, `${JSON.stringify(report)}\n${examples.join("\n")}`)
  })

  it("is 503 while the pooler is down or hangs, and then works again", { timeout: 120_000 }, async () => {
    const read = () => asUser("ann", "GET /v1/db/notes?select=id")
    const all = async () =>
      Promise.all([read(), runSql({ sql: "select 1" }), ask(service, "GET /api/keys", { key: service.service_role })])
    const works = async () => {
      const replies = await until(all, (them) => them.every(({ status }) => status === 200), 20_000)
      for (const { status, text } of replies) assert.strictEqual(status, 200, text)
    }
    for (const [stop, go] of [
      [() => pooler.signal("SIGKILL"), () => pooler.start()],
      [() => pooler.signal("SIGSTOP"), () => pooler.signal("SIGCONT")]
    ] as const) {
      await works()
      await stop()
      const from = performance.now()
      for (const reply of await all()) {
        assertRefused(reply, 503)
        assert.isNotNull(reply.headers.get("retry-after"))
      }
      assert.isBelow(performance.now() - from, 20_000)
      assert.strictEqual((await ask(service, "GET /readyz")).status, 503)
      await go()
      await works()
    }
  })
})

describe.skipIf(isWithout("pgbouncer"))("a pooler that cannot be used", () => {
  const failing = async (
    settings: Readonly<Record<string, string | number>>,
    reached: (pooler: PgBouncer, url: string) => Readonly<Record<string, string>> = (pooler, url) =>
      behind(pooler)(url),
    databases?: (server: string) => ReadonlyArray<string>
  ) => {
    await using pooler = await makePgBouncer(inject("databaseUrl"), settings, databases)
    return await serveInProcess({}, (url) => reached(pooler, url)).then(
      async (service) => {
        await service[Symbol.asyncDispose]()
        return "it started"
      },
      (error: Error) => error.message
    )
  }

  it("has no direct address beside it", async () => {
    for (const settings of [{}, { ignore_startup_parameters: "options" }]) {
      assert.match(
        await failing(settings, (pooler, url) => ({ DATABASE_URL: pooler.through(url) })),
        /svc: DATABASE_URL leads to a connection pooler.*Set DATABASE_DIRECT_URL to PostgreSQL's own address/
      )
    }
  })

  it("has a direct address that is a pooler's", async () => {
    const text = await failing({}, (pooler, url) => ({
      DATABASE_URL: pooler.through(url),
      DATABASE_DIRECT_URL: pooler.through(url)
    }))
    assert.match(text, /svc: DATABASE_DIRECT_URL leads to a connection pooler.*Set it to PostgreSQL's own address/)
  })

  it("is in statement mode", async () => {
    assert.match(
      await failing({ pool_mode: "statement" }),
      /svc: The pooler .* is in statement mode.*set its pool_mode to transaction/
    )
  })

  it("leads to another database", async () => {
    const text = await failing({}, undefined, (server) => [`* = ${server} dbname=postgres`])
    assert.match(text, /svc: DATABASE_URL \(.*\) and DATABASE_DIRECT_URL \(.*\) lead to different databases/)
  })

  it("does not know the callers' login", async () => {
    const auth_query = "select usename, passwd from pg_shadow where usename = $1 and usename = 'postgres'"
    assert.match(
      await failing({ auth_query }),
      /svc: The pooler .* does not accept the login svc_authenticator.*auth_query/
    )
  })

  it("makes another login of the service's", async () => {
    const admin = new Client({ connectionString: inject("databaseUrl") })
    await admin.connect()
    await admin.query("create role pooler_login login password 'secret'")
    const as = "user=pooler_login password=secret"
    const text = await failing({}, undefined, (server) => [`* = ${server} ${as}`])
    await admin.query("drop role pooler_login")
    await admin.end()
    assert.match(text, /svc: The pooler .* logs postgres in to PostgreSQL as pooler_login: leave user= out/)
  })

  it.each([
    [
      { DATABASE_URL: "postgres://a:b@h1,h2/x", DATABASE_DIRECT_URL: "postgres://a:b@h/x" },
      /DATABASE_URL must name one host/
    ],
    [
      { DATABASE_URL: "postgres://a:b@h/x", DATABASE_DIRECT_URL: "postgres://c:b@h/x" },
      /DATABASE_DIRECT_URL has another user than DATABASE_URL/
    ],
    [
      { DATABASE_URL: "postgres://a:b@h/x", DATABASE_DIRECT_URL: "https://h/x" },
      /DATABASE_DIRECT_URL must be postgres:/
    ],
    [{ DATABASE_URL: "", DATABASE_DIRECT_URL: "postgres://a:b@h/x" }, /DATABASE_URL is missing/]
  ])("has settings that contradict each other: %o", async (settings, message) => {
    const error = await serveInProcess({}, () => settings).catch((cause: Error) => cause)
    assert.instanceOf(error, Error)
    assert.match(error.message, message)
  })

  it("works in session mode too", async () => {
    await using pooler = await makePgBouncer(inject("databaseUrl"), { pool_mode: "session", default_pool_size: 30 })
    await using service = await serveInProcess({}, behind(pooler))
    assert.deepStrictEqual(await sql(service, "select 1 as a"), [{ a: 1 }])
  })
})
