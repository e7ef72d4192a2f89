import { assert, describe, it } from "vitest"
import { ownedTable, serveIsolated } from "../../support/rows/isolation.ts"

const sub = "current_setting('request.jwt.sub', true)"

/** Ways in which a function is declared IMMUTABLE although it answers each caller differently, by the policy that uses it. */
const promises: ReadonlyArray<readonly [what: string, policy: string, functions: string]> = [
  [
    "a body in SQL",
    "owner = me_text()",
    `create function me_text() returns text immutable language sql as $$ select ${sub} $$;`
  ],
  [
    "a body in PL/pgSQL",
    "owner = me_plpgsql()",
    `create function me_plpgsql() returns text immutable language plpgsql as $$ begin return ${sub}; end $$;`
  ],
  [
    "a body of standard SQL",
    "owner = me_standard()",
    `create function me_standard() returns text immutable language sql return ${sub};`
  ],
  [
    "a call within PL/pgSQL that is STABLE",
    "owner = me_within()",
    `create function me_inner() returns text immutable language sql as $$ select ${sub} $$;
     create function me_within() returns text stable language plpgsql as $$ begin return me_inner(); end $$;`
  ],
  [
    "a call within a query of PL/pgSQL",
    "is_mine(owner)",
    `create function me_queried() returns text immutable language plpgsql as $$ begin return ${sub}; end $$;
     create function is_mine(o text) returns boolean stable language plpgsql as $$
       declare n int; begin select count(*) into n from (values (o)) v(x) where x = me_queried(); return n = 1; end $$;`
  ],
  [
    "a row of a table",
    "owner = (select me_row())",
    `create table mine (owner text default ${sub}); insert into mine values (null); grant all on mine to anon, authenticated;
     create function me_row() returns text immutable language sql as $$ select ${sub} from mine limit 1 $$;`
  ]
]

const isolated = serveIsolated(
  promises.map(([, policy, functions], n) => `${functions} ${ownedTable(`promised_${n}`, policy)}`).join("\n")
)

describe("a function that is declared IMMUTABLE and is not answers each caller, with", () => {
  it.each(promises.map(([what], n) => ({ what, table: `promised_${n}` })))("$what", async ({ table }) => {
    const faults: Array<string> = []
    for (let n = 0; n < 60; n++) {
      const fault = await isolated.read(table)(`u${n % 6}`)
      if (fault !== undefined) faults.push(fault)
    }
    assert.deepStrictEqual(faults.slice(0, 3), [], `${faults.length} of 60`)
  })
})
