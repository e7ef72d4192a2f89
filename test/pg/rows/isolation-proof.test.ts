import { describe, it } from "vitest"
import { builtIn, tenantFunction } from "../../../bench/isolation/database.ts"
import { effort } from "../../support/properties.ts"
import { assertNone, type CallerName, ownedTable, serveIsolated, underLoad } from "../../support/rows/isolation.ts"

const isTenant =
  "language plpgsql stable as $$ begin return tenant() = current_setting('request.jwt.sub', true); end $$"

const { call, read, readPlanned, renew } = serveIsolated(`
  ${tenantFunction("volatile")}
  create function is_tenant(value text) returns boolean ${isTenant};
  create domain checked as text check (is_tenant(value));
  create function pg_catalog.isolation_tenant() returns text language plpgsql stable as
    $$ begin return public.tenant(); end $$;
  create function pg_catalog.isolation_equal(text, text) returns boolean ${isTenant.replace("tenant()", "public.tenant()")};
  create operator pg_catalog.=== (leftarg = text, rightarg = text, function = isolation_equal);
  create function pg_catalog.isolation_step(text, text) returns text language plpgsql as
    $$ begin return public.tenant(); end $$;
  create aggregate pg_catalog.isolation_last(text) (sfunc = isolation_step, stype = text);
  grant execute on all functions in schema pg_catalog, public to public;
  ${ownedTable("by_function", "owner = isolation_tenant()")}
  ${ownedTable("by_operator", `${builtIn} and owner === owner`)}
  ${ownedTable("by_validity", `${builtIn} and pg_input_is_valid(owner, 'public.checked')`)}
  ${ownedTable("by_error", `${builtIn} and (pg_input_error_info(owner, 'public.checked')).message is null`)}
  ${ownedTable("by_json_value", `${builtIn} and json_value(to_jsonb(owner), '$' returning public.checked) is not null`)}
  ${ownedTable("by_json_query", `${builtIn} and json_query(to_jsonb(owner), '$' returning public.checked omit quotes) is not null`)}
  create function last_owner() returns text language sql stable
    return isolation_last(current_setting('request.jwt.sub', true));
  create function valid_sub() returns text language sql stable
    return case when pg_input_is_valid(current_setting('request.jwt.sub', true), 'public.checked')
      then current_setting('request.jwt.sub', true) end;
  create function keeps_tenant(text) returns boolean language plpgsql immutable as
    $$ begin return tenant() is not null; end $$;
  ${ownedTable("by_check", builtIn)}
  alter table by_check add check (keeps_tenant('constant'));
  do $$ begin execute format('alter database %I set constraint_exclusion = on', current_database()); end $$;
  create domain shown as text;
  create function shown_json(shown) returns json language plpgsql stable as $$ begin return to_json(tenant()); end $$;
  create cast (shown as json) with function shown_json(shown) as implicit;
  create domain wanted as text;
  create function wanted_text(text) returns wanted language plpgsql stable as $$ begin return tenant(); end $$;
  create cast (text as wanted) with function wanted_text(text) as implicit;
  ${ownedTable("by_format", builtIn).replace("owner text", "owner shown")}
  ${ownedTable("by_filter", builtIn)}
  alter table by_filter add wanted wanted;
  update by_filter set wanted = owner;
  create function my_tenant() returns text language plpgsql as $$ begin return tenant(); end $$;
  grant execute on all functions in schema public to anon, authenticated;`)

describe("no caller is taken for another by", () => {
  it.each([
    { what: "a function made in pg_catalog", request: read("by_function") },
    { what: "an operator made in pg_catalog", request: read("by_operator") },
    { what: "an aggregate made in pg_catalog", request: call("last_owner") },
    { what: "pg_input_is_valid of a domain", request: read("by_validity") },
    { what: "pg_input_error_info of a domain", request: read("by_error") },
    { what: "JSON_VALUE that returns a domain", request: read("by_json_value") },
    { what: "JSON_QUERY that returns a domain", request: read("by_json_query") },
    { what: "a cast that shows a domain", request: read("by_format") },
    { what: "a cast that reads a filter", request: read("by_filter", "&wanted=eq.mine") },
    { what: "a check that the planner evaluates", request: readPlanned("by_check") },
    { what: "pg_input_is_valid in a function that is called", request: call("valid_sub") }
  ])("$what", async ({ request }) => {
    await renew()
    const asked = (caller: CallerName, n: number) => (n % 5 === 4 ? call("my_tenant")(caller) : request(caller))
    assertNone(await underLoad(asked, (answered) => answered(250 * effort)))
  })
})
