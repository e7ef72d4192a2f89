import { assert, describe, it } from "vitest"
import { builtIn } from "../../../bench/isolation/database.ts"
import { effort } from "../../support/properties.ts"
import {
  assertNone,
  type CallerName,
  errorIn,
  type Fault,
  ownedTable,
  serveIsolated,
  underLoad
} from "../../support/rows/isolation.ts"

/** Throws away prepared statements of the session that match a pattern; `instead` takes the place of each. */
const thrower = `
  create function throw_away(pattern text, instead text default null) returns int language plpgsql as $body$
    declare one record; types text; begin
      for one in select name, statement, parameter_types from pg_prepared_statements where statement ~* pattern loop
        execute format('deallocate %I', one.name);
        continue when instead is null;
        types = array_to_string(one.parameter_types, ', ');
        begin
          execute format('prepare %I%s as %s', one.name, case when types = '' then '' else '(' || types || ')' end, instead);
        exception when others then null; end;
      end loop;
      return 1;
    end $body$;
  create function throw_all() returns int language plpgsql as $$ begin execute 'deallocate all'; return 1; end $$;
  create table thrown (n int default throw_all());
  create view thrown_by_view as select throw_all() as n;
  grant all on thrown, thrown_by_view to anon, authenticated;`

const isolated = serveIsolated(`
  ${thrower}
  ${ownedTable("items", builtIn)}
  alter table items add changed_by text;
  create table notes (id int generated always as identity, owner text default current_setting('request.jwt.sub', true), note text);
  alter table notes enable row level security;
  create policy own on notes using (${builtIn}) with check (${builtIn});
  grant all on notes to anon, authenticated;
  grant all on all sequences in schema public to anon, authenticated;
  grant execute on all functions in schema public to anon, authenticated;`)

let shapes = 0

/** u0, who owns rows like everyone, changes all rows that it sees, in ever new statements. */
const change = async (caller: CallerName): Promise<Fault> => {
  const line = `PATCH /v1/db/items?id=gt.0&select=id,s${++shapes}:owner,owner`
  const answer = await isolated.ask(caller, line, { changed_by: caller })
  const foreign =
    answer.status < 300 && (JSON.parse(answer.text) as Array<{ owner: string }>).find(({ owner }) => owner !== caller)
  return foreign ? `${caller} changed ${JSON.stringify(foreign)}` : errorIn(caller, answer)
}

const read = async (caller: CallerName): Promise<Fault> => {
  const answer = await isolated.ask(caller, "GET /v1/db/items?select=owner")
  const right = JSON.stringify(Array.from({ length: 10 }, () => ({ owner: caller })))
  return answer.status < 300 && answer.text.replaceAll(/\s/g, "") !== right
    ? `${caller} got ${answer.text.slice(0, 100)}`
    : errorIn(caller, answer)
}

const confirmed = new Map<number, string>()
/** Inserts a note, which is kept among the confirmed ones if the answer is 201. */
const insert = async (caller: CallerName, n: number): Promise<Fault> => {
  const note = `${caller} ${n}`
  const answer = await isolated.ask(caller, "POST /v1/db/notes?select=id,owner", { note })
  if (answer.status !== 201) return errorIn(caller, answer)
  const [{ id, owner }] = JSON.parse(answer.text) as [{ id: number; owner: string }]
  confirmed.set(id, note)
  return owner === caller ? undefined : `${caller} inserted for ${owner}`
}

const rpc = (name: string, body: object) => () => isolated.ask("u1", `POST /v1/db/rpc/${name}`, body)
const forged = "select set_config('request.jwt.sub', 'u7', false), set_config('request.jwt.claims', '{}', false), '1'"

const attacks: ReadonlyArray<{ readonly what: string; readonly attack: () => Promise<unknown> }> = [
  { what: "DEALLOCATE ALL in a function", attack: rpc("throw_all", {}) },
  { what: "DEALLOCATE ALL in a default", attack: () => isolated.ask("u1", "POST /v1/db/thrown", [{}]) },
  { what: "DEALLOCATE ALL in a view", attack: () => isolated.ask("u1", "GET /v1/db/thrown_by_view") },
  { what: "DEALLOCATE of the statement that commits", attack: rpc("throw_away", { pattern: "^commit" }) },
  { what: "DEALLOCATE of the statement that begins", attack: rpc("throw_away", { pattern: "^begin" }) },
  { what: "DEALLOCATE of the statement that sets the claims", attack: rpc("throw_away", { pattern: "set_config" }) },
  { what: "DEALLOCATE of the statements on a table", attack: rpc("throw_away", { pattern: "items|notes" }) },
  { what: "PREPARE of others under their names", attack: rpc("throw_away", { pattern: ".", instead: "select 1" }) },
  { what: "PREPARE of forged claims", attack: rpc("throw_away", { pattern: "set_config", instead: forged }) }
]

describe("no caller is harmed by", () => {
  it.each(attacks)("$what", async ({ attack }) => {
    await isolated.renew()
    await isolated.outside("update items set changed_by = null; truncate notes restart identity")
    confirmed.clear()
    const result = await underLoad(
      (caller, n) => {
        if (n % 10 === 9) return attack().then(() => undefined)
        return n % 3 === 0 ? change(caller) : n % 3 === 1 ? insert(caller, n) : read(caller)
      },
      (answered) => answered(600 * effort)
    )
    assertNone(result)
    const foreign = await isolated.outside("select id, owner, changed_by from items where changed_by <> owner limit 3")
    assert.deepStrictEqual(foreign, [], "changed by another")
    const kept = new Map((await isolated.outside("select id, note from notes")).map(({ id, note }) => [id, note]))
    const lost = [...confirmed].filter(([id, note]) => kept.get(id) !== note)
    assert.deepStrictEqual(lost.slice(0, 3), [], `${lost.length} of ${confirmed.size} confirmed inserts are lost`)
  })
})
