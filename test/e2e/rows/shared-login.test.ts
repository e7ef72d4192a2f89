import { assert, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { startService, until } from "../../support/service.ts"

it("an anonymous caller's function that changes the login of all callers stops other callers only briefly", async () => {
  await using service = await startService()
  await sql(service, "create table todo (id int)")
  await sql(service, "grant select on todo to anon")
  await sql(
    service,
    `create function spoil(what text) returns text language plpgsql as $$
     begin
       set role none;
       execute format('alter role %I %s', session_user, what);
       return session_user;
     end $$`
  )
  const spoil = (what: string) => ask(service, "POST /v1/db/rpc/spoil", { key: service.anon, body: { what } })
  const settings = () => sql(service, "select setconfig from pg_db_role_setting s join pg_roles r on r.oid = s.setrole")
  /** Closes all connections of callers, so that the next request opens one. */
  const reconnect = () =>
    sql(service, "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'svc_authenticator'")
  const read = () => ask(service, "GET /v1/db/todo", { key: service.anon })

  for (const what of [
    "set search_path = evil",
    "set default_transaction_read_only = on",
    "in database postgres set lock_timeout = 1"
  ]) {
    assert.strictEqual((await spoil(what)).status, 200, what)
    assert.strictEqual((await settings()).length, 1, what)
    await until(settings, (rows) => rows.length === 0, 35_000)
    assert.deepStrictEqual(await settings(), [], what)
  }
  for (const what of ["password 'known'", "password null"]) {
    assert.strictEqual((await spoil(what)).status, 200, what)
    await until(
      async () => service.output().split("Set the password").length,
      (n) => n > (what.endsWith("null") ? 2 : 1),
      35_000
    )
    await reconnect()
    await until(read, ({ status }) => status === 200, 5_000)
    assert.strictEqual((await read()).status, 200, what)
  }
  for (const what of ["connection limit 1", "nologin", "rename to other", "createdb", "valid until '2000-01-01'"]) {
    assert.isAtLeast((await spoil(what)).status, 400, what)
  }
})
