import { Client } from "pg"
import { assert, describe, inject, it } from "vitest"
import { ownedTable, serveIsolated } from "../../support/rows/isolation.ts"
import { tagged, ways, witnessSql } from "../../support/rows/witness.ts"
import { until } from "../../support/service.ts"

const timings = ["before insert", "before update", "before delete"]
const called = (table: string, when: string) =>
  `create trigger raises before ${when} on ${table} for each row execute function raising_row();`

const isolated = serveIsolated(`${witnessSql(inject("databaseUrl"))}
  ${timings.map((when) => `create table ${when.replace(" ", "_")} (id int primary key, note text);`).join("")}
  ${timings.map((when) => called(when.replace(" ", "_"), when.split(" ")[1] ?? "")).join("")}
  insert into before_update select n, 'old' from generate_series(1, 10) n;
  insert into before_delete select n, 'old' from generate_series(1, 1000) n;
  create table defaulted (id int, note text default
    raising(current_setting('request.headers')::json ->> 'x-tag', current_setting('request.headers')::json ->> 'x-state'));
  create table deferred (id int primary key);
  create constraint trigger raises after insert on deferred deferrable initially deferred
    for each row execute function raising_row();
  create view viewed as select
    raising(current_setting('request.headers')::json ->> 'x-tag', current_setting('request.headers')::json ->> 'x-state') as note;
  create function listed() returns setof viewed language plpgsql as $$ begin return query select * from viewed; end $$;
  create view many as select n, case when n = 1 then raising('many', '') end as called from generate_series(1, 30000) n;
  create function slow(tag text) returns text language plpgsql as $$ begin
    perform witness(tag); perform pg_sleep(0.02); return tag; end $$;
  create table locked (id int, note text);
  create function counts(tag text) returns int language plpgsql as $$ begin
    perform witness(tag); return (select count(*) from locked); end $$;
  ${["plain", "triggered", "repoliced"].map((name) => ownedTable(name, "true")).join("")}
  create function in_policy() returns boolean language plpgsql as $$ begin perform witness('policy'); return true; end $$;
  create function in_trigger() returns trigger language plpgsql as $$ begin perform witness('trigger'); return new; end $$;
  grant all on all tables in schema public to anon, authenticated;
  grant execute on all functions in schema public to anon, authenticated;`)

let tags = 0
const count = async (tag: string) =>
  Number((await isolated.outside(`select count(*) as n from witnessed where tag = '${tag}'`))[0]?.["n"])

/** Sends requests of one kind until its statement is prepared and longer, and checks that each of them ran once. */
const runsOnce = async (line: string, way: string, body?: (n: number) => unknown) => {
  let wasDropped = false
  for (let n = 1; n <= 3; n++) {
    const tag = `${++tags}`
    const fits = line.replace("=N", `=eq.${tags}`).replace("TAG", tag).replace("WAY", way)
    const sent = body?.(tags)
    const given = line.includes("/rpc/raising") && sent !== undefined ? { tag, state: way } : sent
    const answer = await isolated.ask("u1", fits, given, tagged(tag, way))
    assert.strictEqual(await count(tag), 1, `request ${n} of ${line} with ${way}: ${answer.status} ${answer.text}`)
    // On a session in which what follows was prepared. Once it is known that it is dropped, it is not prepared any more.
    const dropped: boolean = way === "deallocate" && !wasDropped && answer.text.includes("EXECUTION_IN_DOUBT")
    wasDropped ||= dropped
    if ((way === "" || way === "deallocate") && !dropped) assert.isBelow(answer.status, 300, answer.text)
    else assert.isAtLeast(answer.status, 300, answer.text)
  }
}

const kinds: ReadonlyArray<readonly [what: string, line: string, body?: (n: number) => unknown]> = [
  ["POST of a function", "POST /v1/db/rpc/raising", () => ({})],
  ["GET of a function", "GET /v1/db/rpc/raising?tag=TAG&state=WAY"],
  ["POST of a set-returning function", "POST /v1/db/rpc/listed?note=not.is.null", () => ({})],
  ["POST with a trigger", "POST /v1/db/before_insert", (id) => ({ id, note: "new" })],
  ["POST with return=minimal", "POST /v1/db/before_insert?select=id", (id) => [{ id }]],
  ["POST with a default", "POST /v1/db/defaulted", (id) => ({ id })],
  ["upsert", "POST /v1/db/before_insert?on_conflict=id", (id) => ({ id, note: "new" })],
  ["PUT", "PUT /v1/db/before_insert?id=N", (id) => ({ id, note: "new" })],
  ["PATCH", "PATCH /v1/db/before_update?id=eq.3", () => ({ note: "new" })],
  ["DELETE", "DELETE /v1/db/before_delete?id=N"],
  ["POST with a deferred trigger", "POST /v1/db/deferred", (id) => ({ id })],
  ["GET of a view", "GET /v1/db/viewed"]
]

describe("runs once, whatever it raises:", () => {
  for (const [what, line, body] of kinds) {
    it(what, async () => {
      for (const way of ways) await runsOnce(line, way, body)
    })
  }

  it("a view in CSV of more rows than one response has", async () => {
    const answer = await isolated.ask("service", "GET /v1/db/many?select=n,called", undefined, { accept: "text/csv" })
    assert.deepInclude(answer, { status: 200 })
    assert.strictEqual(answer.text.split("\n").length, 30_001)
    assert.strictEqual(await count("many"), 1)
  })
})

it("each call runs once while definitions change", async ({ signal }) => {
  const calls = Array.from({ length: 30 }, (_, n) => `changing ${n}`)
  const asked = new AbortController()
  const over = AbortSignal.any([asked.signal, signal])
  const changing = (async () => {
    while (!over.aborted) await isolated.outside("create table passing (i int); drop table passing")
  })()
  try {
    for (const tag of calls) {
      const answer = await isolated.ask("u1", "POST /v1/db/rpc/slow", { tag })
      assert.deepInclude(answer, { status: 200, text: JSON.stringify(tag) })
    }
  } finally {
    asked.abort()
    await changing
  }
  const rows = await isolated.outside(
    "select tag, count(*)::int as n from witnessed where tag like 'changing%' group by 1"
  )
  assert.strictEqual(rows.length, calls.length)
  assert.deepStrictEqual(
    rows.filter(({ n }) => n !== 1),
    []
  )
})

/** Sends a request while a transaction with this DDL is open, which commits once the request waits for its lock. */
const sentBefore = async (ddl: string, ask: () => ReturnType<typeof isolated.ask>) => {
  const client = new Client({ connectionString: isolated.service().databaseUrl })
  await client.connect()
  try {
    await client.query(`begin; ${ddl}`)
    const answer = ask()
    await until(
      () =>
        isolated.outside(
          "select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'svc rows'"
        ),
      ({ length }) => length > 0
    )
    await client.query("commit")
    return await answer
  } finally {
    await client.end()
  }
}

/** Whether the last command on connections of users is the proof behind a clean statement. */
const lastSent = `select query like '%svc_ddl.changes%' as "isProof" from pg_stat_activity
  where usename = 'svc_authenticator' and datname = current_database() order by query_start desc nulls last limit 1`

/** So that the service knows the definitions, and the statement is prepared and known to be quick. */
const warmed = async (ask: () => ReturnType<typeof isolated.ask>) => {
  const last = await until(
    async () => {
      await isolated.ask("u1", "GET /v1/db/plain?select=id&id=eq.1")
      return isolated.outside(lastSent)
    },
    ([sent]) => sent?.["isProof"] === true
  )
  assert.deepStrictEqual(last, [{ isProof: true }])
  for (let n = 0; n < 4; n++) assert.isBelow((await ask()).status, 300)
}

/**
 * Sends a request before the commit of DDL until it is refused. The service may be told of earlier DDL just then: a
 * statement that it does not know to be clean waits and then runs, once.
 *
 * @param undo DDL that undoes the other
 */
const refusedBefore = (undo: string, ddl: string, ask: () => ReturnType<typeof isolated.ask>) =>
  until(
    async () => {
      await isolated.outside(undo)
      await until(ask, ({ status }) => status < 300)
      await warmed(ask)
      return sentBefore(ddl, ask)
    },
    ({ status }) => status === 503
  )

describe("a request that waits for a transaction with DDL", () => {
  it("runs once if it may run user code", async () => {
    const ask = () => isolated.ask("u1", "POST /v1/db/rpc/counts", { tag: "waits" })
    await warmed(ask)
    const answer = await sentBefore("alter table locked add column more int", ask)
    assert.deepInclude(answer, { status: 200, text: "0" })
    assert.strictEqual(await count("waits"), 5)
  })

  it("runs again if it still runs no user code", async () => {
    const read = () => isolated.ask("u1", "GET /v1/db/plain?select=id&id=eq.1")
    const write = () => isolated.ask("u1", "PATCH /v1/db/plain?id=eq.1", { body: "new" })
    for (const ask of [read, write]) {
      await warmed(ask)
      const answer = await sentBefore("lock table plain; create table beside_it (); drop table beside_it", ask)
      assert.deepInclude(answer, { status: 200 })
      assert.include(answer.text, '"id":1')
    }
  })

  it("runs again if further definitions change faster than they can be read", async () => {
    const ask = () => isolated.ask("u1", "PATCH /v1/db/plain?id=eq.1", { body: "new" })
    for (let times = 0; times < 5; times++) {
      await warmed(ask)
      const ending = new AbortController()
      const sent = sentBefore("lock table plain; create table beside_it (); drop table beside_it", async () => {
        const answer = await ask()
        ending.abort()
        return answer
      })
      const until = performance.now() + 10_000
      while (!ending.signal.aborted && performance.now() < until) {
        await isolated.outside("create table further (); drop table further")
      }
      assert.deepInclude(await sent, { status: 200 })
    }
  })

  it("is refused if it may have run a new trigger", async () => {
    let inserted = 0
    const ask = async () => {
      const answer = await isolated.ask("u1", "POST /v1/db/triggered", { body: "new" })
      if (answer.status === 201) inserted++
      return answer
    }
    const answer = await refusedBefore(
      "drop trigger if exists new on triggered",
      "create trigger new before insert on triggered for each row execute function in_trigger()",
      ask
    )
    assert.strictEqual(answer.status, 503, answer.text)
    assert.deepInclude(JSON.parse(answer.text), { code: "EXECUTION_IN_DOUBT" })
    assert.strictEqual(answer.headers["retry-after"], "1")
    const kept = await isolated.outside("select count(*)::int as n from triggered where body = 'new'")
    assert.deepStrictEqual(kept, [{ n: inserted }], "the refused one was rolled back")
    const before = await count("trigger")
    assert.strictEqual((await ask()).status, 201)
    assert.strictEqual(await count("trigger"), before + 1)
  })

  it("is refused if it may have run a function of a new policy", async () => {
    const ask = () => isolated.ask("u1", "GET /v1/db/repoliced?select=id&id=eq.1")
    const policed = (condition: string) =>
      `drop policy own on repoliced; create policy own on repoliced using (${condition})`
    const answer = await refusedBefore(policed("true"), policed("in_policy()"), ask)
    assert.deepInclude(JSON.parse(answer.text), { code: "EXECUTION_IN_DOUBT" })
    assert.strictEqual(answer.status, 503)
    assert.strictEqual((await ask()).status, 200)
  })

  it("is refused before it begins if its prepared statement does not fit the new definitions", async () => {
    let called = 0
    const ask = async () => {
      const answer = await isolated.ask("u1", "GET /v1/db/counted?select=called&id=eq.1")
      if (answer.status === 200) called++
      return answer
    }
    await isolated.outside("create table counted_in (id text); insert into counted_in values (1)")
    const typed = (type: string) => `drop view if exists counted;
      alter table counted_in alter column id type ${type} using id::${type};
      create view counted as select id, raising('counted', '') as called from counted_in; grant all on counted to anon, authenticated`
    const answer = await refusedBefore(typed("int"), typed("text"), ask)
    assert.deepInclude(JSON.parse(answer.text), { code: "DEFINITIONS_CHANGED" }, answer.text)
    assert.strictEqual(answer.status, 503)
    assert.strictEqual(await count("counted"), called)
    assert.strictEqual((await ask()).status, 200)
  })
})
