import { assert, describe, it } from "vitest"
import { builtIn } from "../../../bench/isolation/database.ts"
import { effort } from "../../support/properties.ts"
import {
  assertNone,
  type CallerName,
  ownedTable,
  pause,
  serveIsolated,
  underLoad
} from "../../support/rows/isolation.ts"

/** Cancels or ends every session of its login but its own; returns how many PostgreSQL let it. */
const ender = (how: string) => `
  create function ${how}_others(role text) returns int language plpgsql as $$ declare one record; ended int = 0; begin
    if role <> '' then execute 'set role ' || role; end if;
    for one in select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() loop
      begin
        if pg_${how}_backend(one.pid) then ended = ended + 1; end if;
      exception when insufficient_privilege then null; end;
    end loop;
    return ended;
  end $$;`

const { ask, call, read } = serveIsolated(`
  ${["cancel", "terminate"].map(ender).join("")}
  ${ownedTable("items", builtIn)}
  create function slow_sub() returns text language plpgsql as
    $$ begin perform pg_sleep(0.01); return current_setting('request.jwt.sub', true); end $$;
  grant execute on all functions in schema public to anon, authenticated;`)

const own = (caller: CallerName, n: number) => (n % 2 === 0 ? read("items") : call("slow_sub"))(caller)

describe("no function of a caller without a service key can", () => {
  for (const how of ["cancel", "terminate"]) {
    it.each(["none", "anon", "authenticated", ""])(`${how} the sessions of others as role "%s"`, async (role) => {
      const ended: Array<string> = []
      const result = await underLoad(own, async () => {
        for (let n = 0; n < 4 * effort; n++) {
          const answer = await ask(n % 2 === 0 ? "anon" : "u1", `POST /v1/db/rpc/${how}_others`, { role })
          if (answer.status < 300 && answer.text !== "0") ended.push(answer.text)
          await pause(100)
        }
      })
      assertNone(result)
      assert.deepStrictEqual(ended, [], "sessions that were ended")
    })
  }
})
