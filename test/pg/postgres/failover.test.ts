import { Cause, ConfigProvider, Effect, Exit, Layer, ManagedRuntime } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Db, serviceActor } from "../../../src/services/ports/Db.ts"
import * as postgres from "../../../src/layers/postgres/layer.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { parseLogin } from "../../../src/layers/postgres/Login.ts"
import { ExposedSchemas } from "../../../src/services/catalogue/ExposedSchemas.ts"
import { type PostgresCluster, startPostgresCluster } from "../../../bench/support/cluster.ts"

let cluster: PostgresCluster
beforeAll(async () => {
  cluster = await startPostgresCluster(1)
})
afterAll(() => cluster[Symbol.asyncDispose]())

const service = (url: string) => {
  const login = parseLogin(url)
  assert.isDefined(login)
  return ManagedRuntime.make(
    postgres.layer.pipe(
      Layer.provideMerge(ExposedSchemas.layer),
      Layer.provide(Layer.succeed(PostgresAddress, login)),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({}))),
      Layer.orDie
    )
  )
}

describe("several servers in DATABASE_URL", () => {
  it("goes on with a promoted standby, and the primary before it acknowledges nothing more", async () => {
    const { primary, standbys } = cluster
    const [standby] = standbys
    assert.isDefined(standby)
    // The standby is listed first: the primary is found among them. It acknowledges only what the standby has.
    await primary.sql("alter system set synchronous_standby_names = '*'")
    await primary.sql("select pg_reload_conf()")
    await using runtime = service(`${cluster.url(standby, primary)}?target_session_attrs=read-write`)
    const db = await runtime.runPromise(Effect.service(Db))
    const run = (text: string) => db.main.run(serviceActor, { text, params: [], access: "write", searchPath: "public" })
    await runtime.runPromise(run("create table written (id int primary key)"))

    const acknowledged: Array<number> = []
    const failures: Array<unknown> = []
    const end = new AbortController()
    let [slowest, next, port] = [0, 0, 0]
    const write = async () => {
      while (!end.signal.aborted) {
        const id = next++
        const from = performance.now()
        const text = `insert into written values (${id}) returning current_setting('port')`
        const exit = await runtime.runPromiseExit(run(text))
        slowest = Math.max(slowest, performance.now() - from)
        if (Exit.isSuccess(exit)) {
          acknowledged.push(id)
          port = Number(exit.value[0])
        } else {
          failures.push(Cause.squash(exit.cause))
          await sleep(50)
        }
      }
    }
    const writers = Array.from({ length: 4 }, write)
    const until = async (what: string, holds: () => boolean) => {
      for (const end = Date.now() + 20_000; !holds(); await sleep(20))
        assert.isBelow(Date.now(), end, `${what}; ${failures.length} failures, the last ${String(failures.at(-1))}`)
    }
    await until("writes before", () => acknowledged.length > 100)
    assert.strictEqual(port, primary.port)
    // The primary is not stopped: it still believes that it is one, and so do its sessions.
    const from = Date.now()
    await standby.sql("select pg_promote()")
    await until("writes at the new primary", () => port === standby.port)
    assert.isBelow(Date.now() - from, 8_000)
    const before = acknowledged.length
    // Longer than a round: the primary of before, which answers, is not taken again.
    await sleep(1_300)
    await until("writes after", () => acknowledged.length > before + 100)
    end.abort()
    await Promise.all(writers)

    assert.strictEqual(port, standby.port)
    assert.isBelow(slowest, 9_000, "nothing hangs")
    for (const failure of failures) {
      assert.deepInclude(failure, { _tag: "Unavailable", status: 503, retry_after: 1 })
    }
    const there = new Set((await standby.sql("select id from written")).map(({ id }) => Number(id)))
    assert.deepStrictEqual(
      acknowledged.filter((id) => !there.has(id)),
      [],
      "acknowledged, but not written"
    )
    // Own tables, sessions and all other connections have moved as well.
    const left = await primary.sql(
      "select application_name from pg_stat_activity where application_name like 'svc%' and application_name <> 'svc primary' and state <> 'active'"
    )
    assert.deepStrictEqual(left, [])
  })
})
