import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { quoteLiteral } from "../../../domain/sql/Names.ts"

/** Replaces parts of a function's body, each of which it must have. Nothing if the step that makes it was left out. */
const edited = (signature: string, edits: ReadonlyArray<readonly [string, string]>) => `do $do$
  declare
    made text := (select pg_get_functiondef(oid) from pg_proc where oid = to_regprocedure('${signature}'));
    parts text[] := array[${edits.flat().map(quoteLiteral).join(", ")}];
  begin
    if made is null then return; end if;
    for i in 1..cardinality(parts) by 2 loop
      if position(parts[i] in made) = 0 then raise exception 'svc: ${signature} is not as expected'; end if;
      made := replace(made, parts[i], parts[i + 1]);
    end loop;
    execute made;
  end $do$`

/** Whether auth.users shows the addresses of accounts with a password as confirmed since the sign-up. */
export const confirmedSetting = "supabase:shows_confirmed"

/**
 * Without confirmation of sign-ups, Supabase sets `email_confirmed_at` at once, and apps test it. It is shown in auth.users
 * only, and proves nothing: `verified_at` of the account's address stays null, which the trigger behind the row must not
 * take for a change by the app.
 */
export const confirmed = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const text of [
    edited("svc.supabase_mirror(uuid)", [
      [
        "'verified_at', a.verified_at,",
        `'verified_at', a.verified_at,
         'shown_at', case when i.password_hash is not null
           and exists (select from svc.settings s where s.name = '${confirmedSetting}' and s.value = 'true') then i.created_at end,`
      ]
    ]),
    edited("auth.svc_save_user(jsonb)", [
      [
        "select * into before from auth.users x where x.id = own;",
        `select * into before from auth.users x where x.id = own;
     perform set_config('svc.shown_at', case when u ->> 'verified_at' is null then coalesce(u ->> 'shown_at', '') else '' end, true);`
      ],
      ["(u ->> 'verified_at')::timestamptz, app", "coalesce(u ->> 'verified_at', u ->> 'shown_at')::timestamptz, app"]
    ]),
    edited("svc.supabase_user_written()", [
      [
        "perform svc.supabase_set_address(new.id, new.email, new.email_confirmed_at);",
        `perform svc.supabase_set_address(new.id, new.email, case when tg_op = 'INSERT' or address.verified_at is not null
         or new.email_confirmed_at is distinct from old.email_confirmed_at then new.email_confirmed_at end);`
      ],
      [
        "and (new.email_confirmed_at is null) <> (address.verified_at is null)",
        `and (new.email_confirmed_at is null) <> (address.verified_at is null)
         and coalesce(new.email_confirmed_at <> nullif(current_setting('svc.shown_at', true), '')::timestamptz, true)`
      ]
    ])
  ]) {
    yield* sql.unsafe(text)
  }
})
