import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerDatabase, live } from "../../support/database.ts"
import { anon, raw, service } from "../../support/requests.ts"

const before = `
  create table people (id int primary key, email text);
  insert into people select n, case when n <= 500 then 'ceo@corp.com' else n || '@corp.com' end from generate_series(1, 1000) n;
  alter table people enable row level security;
  create policy few on people using (id > 990);
  create table open (id int primary key, person int references people);
  insert into open select n, n from generate_series(1, 1000) n;
  create view shown as select * from people where id > 990;
  create table rooms (id int primary key);
  insert into rooms select generate_series(1, 1000);
  grant select on all tables in schema public to anon;
  analyze`

layer(layerDatabase({ name: "count_oracle", before, settings: { SVC_DB_MAX_ROWS: "5" } }), live)("a count", (it) => {
  for (const count of ["planned", "estimated"] as const) {
    it.effect(`that is ${count} reveals nothing about rows that the caller does not see`, () =>
      Effect.gen(function* () {
        const total = (line: string, actor = anon) =>
          Effect.map(raw.get(line, { prefer: { count }, actor }), (answer) => answer.total)
        for (const table of ["people", "shown"]) {
          assert.strictEqual(yield* total(`${table}?email=eq.ceo@corp.com`), 0, table)
          assert.strictEqual(yield* total(`${table}?email=eq.nobody@corp.com`), 0, table)
          assert.strictEqual(yield* total(`${table}?or=(email.eq.ceo@corp.com,id.gt.0)`), 10, table)
        }
        assert.strictEqual(yield* total("open?select=id,people!inner(id)&people.email=eq.ceo@corp.com"), 0)
        // Where the caller sees everything, and for service keys, it remains the planner's.
        assert.isAtLeast((yield* total("rooms?id=gt.0")) ?? 0, 900)
        assert.isAtLeast((yield* total("people?email=eq.ceo@corp.com", service)) ?? 0, 400)
      })
    )
  }
})
