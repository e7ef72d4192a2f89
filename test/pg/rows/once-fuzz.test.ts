import * as fc from "fast-check"
import { assert, inject, it } from "vitest"
import { serveIsolated, type CallerName } from "../../support/rows/isolation.ts"
import { witnessSql } from "../../support/rows/witness.ts"

/** The request, of which each has a caller of its own, and the transaction. */
const tag = "concat_ws(' ', current_setting('request.jwt.sub', true), pg_backend_pid(), extract(epoch from now()))"
const clean = (name: string) =>
  `create or replace function ${name}() returns boolean language sql stable return current_user is not null`
const witnessing = (name: string, way = "''") =>
  `create or replace function ${name}() returns boolean language plpgsql volatile as $$ begin
     perform raising(${tag}, ${way}); return true; end $$`
const trigger =
  "create or replace trigger sees before insert or update or delete on things for each row execute function sees()"

const isolated = serveIsolated(`${witnessSql(inject("databaseUrl"))}
  create index on witnessed (tag);
  create table things (id int generated always as identity primary key, note text, filler int default 1);
  insert into things (note) select 'old' from generate_series(1, 400);
  ${clean("in_policy")}; ${clean("in_default")};
  alter table things enable row level security;
  create policy seen on things using (in_policy()) with check (true);
  alter table things add column defaulted boolean default in_default();
  create function sees() returns trigger language plpgsql as $$ begin
    perform witness(${tag}); return coalesce(new, old); end $$;
  create function always(way text) returns text language plpgsql as $$ begin return raising(${tag}, way); end $$;
  create function stably(way text) returns text language plpgsql stable as $$ begin return raising(${tag}, way); end $$;
  create view looked as select id, note from things where in_policy();
  grant all on all tables in schema public to anon, authenticated;
  grant all on all sequences in schema public to anon, authenticated;
  grant execute on all functions in schema public to anon, authenticated;`)

const state = fc.constantFrom("", "22023", "42883", "0A000", "26000", "XX000", "40001", "P0001", "divide", "deallocate")
const definition = fc.oneof(
  fc.constantFrom("in_policy", "in_default").map(clean),
  fc.tuple(fc.constantFrom("in_policy", "in_default"), state).map(([name, way]) => witnessing(name, `'${way}'`)),
  fc.constantFrom(
    trigger,
    "drop trigger if exists sees on things",
    "create table passing (i int); drop table passing",
    "alter table things alter column filler type text",
    "alter table things alter column filler type int using filler::int",
    "alter table things add column if not exists more int",
    "alter table things drop column if exists more"
  )
)
const id = fc.integer({ min: 1, max: 400 })
const request = fc.oneof(
  state.map((way) => ["POST /v1/db/rpc/always", { way }] as const),
  state.map((way) => [`GET /v1/db/rpc/stably?way=${way}`] as const),
  id.map((n) => [`GET /v1/db/things?select=id&id=eq.${n}`] as const),
  id.map((n) => [`GET /v1/db/looked?select=id&id=eq.${n}`] as const),
  fc.constant(["POST /v1/db/things", { note: "new" }] as const),
  id.map((n) => [`PATCH /v1/db/things?id=eq.${n}&select=id`, { note: "changed" }] as const),
  id.map((n) => [`DELETE /v1/db/things?id=eq.${n}&select=id`] as const)
)

it("no request runs user code twice, whatever it raises and whatever is changed meanwhile", async () => {
  const seed = Number(process.env["SVC_TEST_SEED"] ?? Date.now() % 1_000_000_000)
  const requests = fc.sample(request, { seed, numRuns: Number(process.env["SVC_TEST_RUNS"] ?? 300) })
  const definitions = fc.sample(definition, { seed, numRuns: 5000 })
  const statuses = new Map<string, number>()
  const state = { running: true, changes: 0 }
  const changing = (async () => {
    while (state.running) await isolated.outside(`begin; ${definitions[state.changes++ % definitions.length]}; commit`)
  })()
  const answers: Array<{ caller: CallerName; line: string; status: number; code: string }> = []
  const loop = async (from: number) => {
    for (let n = from; n < requests.length; n += 8) {
      const [line, body] = requests[n] ?? ["GET /v1/db/things"]
      const caller: CallerName = `u${n}`
      const { status, text } = await isolated.ask(caller, line, body)
      const code = status < 300 ? "" : String((JSON.parse(text) as { code: unknown }).code)
      answers.push({ caller, line, status, code })
      statuses.set(`${status} ${code}`, (statuses.get(`${status} ${code}`) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, from) => loop(from)))
  state.running = false
  await changing
  const rows = await isolated.outside(
    "select split_part(tag, ' ', 1) as caller, count(distinct tag)::int as n from witnessed group by 1"
  )
  const counts = new Map(rows.map((row) => [row["caller"], Number(row["n"])]))
  const said = JSON.stringify(Object.fromEntries(statuses))
  for (const { caller, code, line, status } of answers) {
    const what = `seed ${seed}: ${line} of ${caller}: ${status} ${code}; of all: ${said}`
    const count = counts.get(caller) ?? 0
    assert.isAtMost(count, 1, what)
    if (code === "DEFINITIONS_CHANGED") assert.strictEqual(count, 0, what)
    else if (line.includes("/rpc/")) assert.strictEqual(count, 1, what)
    if (status >= 500) assert.oneOf(code, ["DEFINITIONS_CHANGED", "EXECUTION_IN_DOUBT", "XX000"], what)
  }
  assert.isAbove(state.changes, 20)
}, 240_000)
