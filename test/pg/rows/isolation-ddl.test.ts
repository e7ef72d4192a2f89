import { assert, describe, it } from "vitest"
import {
  builtIn,
  cached,
  replaceWithViewSql,
  restoreTableSql,
  tenantFunction
} from "../../../bench/isolation/database.ts"
import { effort } from "../../support/properties.ts"
import {
  assertNone,
  type CallerName,
  type Fault,
  ownedTable,
  ownRows,
  pause,
  serveIsolated,
  underLoad
} from "../../support/rows/isolation.ts"

const std = "language sql stable return current_setting('request.jwt.sub', true)"
const caching = "language plpgsql stable as $$ begin return tenant(); end $$"
const swap = `alter table renamed rename to renamed_third; alter table renamed_other rename to renamed;
  alter table renamed_third rename to renamed_other`

const isolated = serveIsolated(`
  ${tenantFunction("volatile")}
  create function keeps(value text) returns boolean language plpgsql as
    $$ begin return tenant() = current_setting('request.jwt.sub', true); end $$;
  create function owned_by_tenant() returns trigger language plpgsql as
    $$ begin new.owner = tenant(); return new; end $$;
  create domain kept_text as text;
  alter domain kept_text add check (keeps(value)) not valid;
  create function policy_sub() returns text ${std};
  ${["altered", "repoliced", "recreated", "renamed", "viewed", "unwatched", "disabled"].map((name) => ownedTable(name, builtIn)).join("")}
  ${ownedTable("renamed_other", cached)}
  ${ownedTable("replaced", "owner = policy_sub()")}
  ${["defaulted", "triggered", "checked", "retyped"].map((name) => ownedTable(name, "true")).join("")}
  ${ownedTable("operated", builtIn, ", code varchar not null default 'a'")}
  create type mood as enum ('calm', 'glad');
  create function mood_json(mood) returns json language plpgsql as $$ begin return to_json(tenant()); end $$;
  create function code_equal(varchar, varchar) returns boolean language plpgsql as
    $$ begin return tenant() = current_setting('request.jwt.sub', true); end $$;
  ${ownedTable("casted", builtIn, ", mood mood not null default 'glad'")}
  create function called() returns text ${std};
  create function my_tenant() returns text language plpgsql as $$ begin return tenant(); end $$;
  grant execute on all functions in schema public to anon, authenticated;`)
const { call, read, readPlanned } = isolated

interface Change {
  readonly what: string
  /** DDL after which user code runs that keeps the first caller in the session; and DDL that undoes it. */
  readonly to: string
  readonly back: string
  /** Default: a read of this table. */
  readonly table?: string
  readonly request?: (caller: CallerName) => Promise<Fault>
}

/** Inserts a row; the response contains its owner. */
const insert = (table: string) => async (caller: CallerName) =>
  ownRows()(caller, await isolated.askAgain(caller, `POST /v1/db/${table}?select=owner`, { body: "new" }))

const changes: ReadonlyArray<Change> = [
  {
    what: "ALTER POLICY",
    table: "altered",
    to: `alter policy own on altered using (${cached})`,
    back: `alter policy own on altered using (${builtIn})`
  },
  {
    what: "DROP and CREATE POLICY",
    table: "repoliced",
    to: `drop policy own on repoliced; create policy own on repoliced using (${cached})`,
    back: `drop policy own on repoliced; create policy own on repoliced using (${builtIn})`
  },
  {
    what: "DROP and CREATE TABLE",
    table: "recreated",
    to: `drop table recreated; ${ownedTable("recreated", cached)}`,
    back: `drop table recreated; ${ownedTable("recreated", builtIn)}`
  },
  { what: "two tables that swap their names", table: "renamed", to: swap, back: swap },
  {
    what: "a table replaced by a view",
    table: "viewed",
    to: replaceWithViewSql("viewed", cached),
    back: restoreTableSql("viewed")
  },
  {
    what: "CREATE OR REPLACE FUNCTION of a policy",
    table: "replaced",
    to: `create or replace function policy_sub() returns text ${caching}`,
    back: `create or replace function policy_sub() returns text ${std}`
  },
  {
    what: "CREATE OR REPLACE FUNCTION that is called",
    request: call("called"),
    to: `create or replace function called() returns text ${caching}`,
    back: `create or replace function called() returns text ${std}`
  },
  {
    what: "a changed default",
    request: insert("defaulted"),
    to: "alter table defaulted alter column owner set default tenant()",
    back: "alter table defaulted alter column owner set default current_setting('request.jwt.sub', true)"
  },
  {
    what: "a new trigger",
    request: insert("triggered"),
    to: "create trigger owned before insert on triggered for each row execute function owned_by_tenant()",
    back: "drop trigger owned on triggered"
  },
  {
    what: "a replaced check",
    request: insert("checked"),
    to: "alter table checked drop constraint if exists kept, add constraint kept check (keeps(owner)) not valid",
    back: "alter table checked drop constraint kept, add constraint kept check (owner <> '')"
  },
  {
    what: "a column of another type",
    request: insert("retyped"),
    to: "truncate retyped; alter table retyped alter column body drop default, alter column body type kept_text",
    back: "alter table retyped alter column body type text"
  },
  {
    what: "a new operator",
    // A statement that is prepared keeps the type of its parameter, and so its operator.
    request: readPlanned("operated", "&code=eq.a"),
    to: "create operator public.= (leftarg = varchar, rightarg = varchar, function = code_equal)",
    back: "drop operator public.= (varchar, varchar)"
  },
  {
    what: "a new cast",
    // A value of a type with a cast to json is shown through the cast.
    request: async (caller) => {
      const answer = await isolated.askAgain(caller, "GET /v1/db/casted?select=owner,mood")
      const foreign = /"mood":"(u\d+)"/.exec(answer.text)?.[1] ?? caller
      return foreign === caller ? ownRows()(caller, answer) : `${caller} was taken for ${foreign}`
    },
    to: "create cast (mood as json) with function mood_json(mood)",
    back: "drop cast (mood as json)"
  }
]

describe("no caller gets another's rows or is taken for another during", () => {
  it.each(changes)("$what", async ({ back, request, table = "", to }) => {
    const ask = request ?? read(table)
    // The function that a request calls afterwards shows what the session was left with.
    const asked = (caller: CallerName, n: number) => (n % 5 === 4 ? call("my_tenant")(caller) : ask(caller))
    const result = await underLoad(asked, async () => {
      await pause(200)
      for (let turn = 0; turn < 6 * effort; turn++) {
        await isolated.outside(`begin; ${turn % 2 === 0 ? to : back}; commit`)
        await pause(turn % 2 === 0 ? 60 : 150)
      }
    })
    assertNone(result)
  })
})

/** Changes that only the comparison of the catalogue notices. */
const unreported = [
  {
    what: "ALTER POLICY with event_triggers = off",
    table: "unwatched",
    to: `set local event_triggers = off; alter policy own on unwatched using (${cached})`,
    back: `set local event_triggers = off; alter policy own on unwatched using (${builtIn})`
  },
  {
    what: "ALTER POLICY with the event trigger disabled",
    table: "disabled",
    to: `alter event trigger svc_ddl disable; alter policy own on disabled using (${cached})`,
    back: `alter policy own on disabled using (${builtIn}); alter event trigger svc_ddl enable always`
  }
]

describe("no caller gets another's rows, once the service has noticed,", () => {
  it.each(unreported)("$what", async ({ back, table, to }) => {
    const epoch = () => isolated.outside("select sum(n)::text as n from svc_ddl.changes")
    const before = await epoch()
    // Meanwhile, what the policy leaves in sessions is not judged.
    await underLoad(read(table), async () => {
      await pause(200)
      await isolated.outside(`begin; ${to}; commit`)
      while (JSON.stringify(await epoch()) === JSON.stringify(before)) await pause(50)
      await pause(300)
    })
    const result = await underLoad(read(table), (answered) => answered(300 * effort))
    await isolated.outside(`begin; ${back}; commit`)
    assertNone(result)
  })
})

it("requests are answered while DDL comes faster than the catalogue can be read", async () => {
  let slowest = 0
  const ask = async (caller: CallerName, n: number) => {
    const started = performance.now()
    const fault = await (n % 3 === 0 ? insert("defaulted") : n % 3 === 1 ? read("altered") : call("my_tenant"))(caller)
    slowest = Math.max(slowest, performance.now() - started)
    return fault
  }
  const result = await underLoad(ask, async () => {
    for (const end = performance.now() + 1000 * effort; performance.now() < end; await pause(10)) {
      await isolated.outside("create table passing (id int); drop table passing")
    }
  })
  assertNone(result)
  assert.isBelow(slowest, 3000, "ms that a request waited")
})
