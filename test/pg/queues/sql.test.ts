import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
/** The first column of each row. */
const values = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.map(sql(text, params), (rows) => rows.map((row) => Object.values(row)[0]))
const ids = (text: string) => Effect.map(values(text), (found) => found.map(Number))
const failure = (effect: Effect.Effect<unknown, unknown, Outside>) =>
  Effect.map(Effect.sandbox(effect).pipe(Effect.flip), (cause) =>
    String(cause.reasons.map((reason) => ("defect" in reason ? reason.defect : reason)))
  )

layer(layerDatabase({ name: "queues_sql" }), live)("queues in SQL", (it) => {
  it.effect("have the functions and columns of pgmq", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('orders')")
      yield* sql("select pgmq.create('orders')")
      assert.deepStrictEqual(yield* ids(`select pgmq.send('orders', '{"n":1}')`), [1])
      assert.deepStrictEqual(yield* ids(`select pgmq.send('orders', '{"n":2}', 60)`), [2])
      assert.deepStrictEqual(
        yield* ids(
          `select pgmq.send_batch('orders', array['{"n":3}','{"n":4}']::jsonb[], array['{"a":1}', null]::jsonb[])`
        ),
        [3, 4]
      )
      const read = yield* sql("select * from pgmq.read('orders', 30, 10)")
      assert.deepStrictEqual(Object.keys(read[0] ?? {}), [
        "msg_id",
        "read_ct",
        "enqueued_at",
        "last_read_at",
        "vt",
        "message",
        "headers"
      ])
      assert.deepStrictEqual(
        read.map(({ headers, message, msg_id, read_ct }) => [Number(msg_id), read_ct, message, headers]),
        [
          [1, 1, { n: 1 }, null],
          [3, 1, { n: 3 }, { a: 1 }],
          [4, 1, { n: 4 }, null]
        ]
      )
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read('orders', 30, 10)"), [])
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.set_vt('orders', 3, 0)"), [3])
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.pop('orders')"), [3])
      assert.deepStrictEqual(yield* values("select pgmq.archive('orders', 1)"), [true])
      assert.deepStrictEqual(yield* values("select pgmq.archive('orders', 1)"), [false])
      assert.deepStrictEqual(yield* values("select pgmq.delete('orders', 4)"), [true])
      assert.deepStrictEqual(yield* ids("select pgmq.delete('orders', array[2, 4])"), [2])
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.a_orders"), [1])
      const [metrics] = yield* sql("select * from pgmq.metrics('orders')")
      assert.deepStrictEqual(
        [metrics?.["queue_length"], metrics?.["total_messages"], metrics?.["queue_visible_length"]].map(Number),
        [0, 4, 0]
      )
      assert.deepStrictEqual(yield* sql("select queue_name, is_partitioned, is_unlogged from pgmq.list_queues()"), [
        { queue_name: "orders", is_partitioned: false, is_unlogged: false }
      ])
      yield* sql("select pgmq.send('orders', '1')")
      assert.deepStrictEqual(yield* ids("select pgmq.purge_queue('orders')"), [1])
      assert.deepStrictEqual(yield* values("select pgmq.drop_queue('orders')"), [true])
      assert.deepStrictEqual(yield* values("select pgmq.drop_queue('orders')"), [false])
      assert.deepStrictEqual(
        yield* values("select relname from pg_class where relname like '_!_orders' escape '!'"),
        []
      )
    })
  )

  it.effect("move to the dead letters only what the caller may update, and none that anyone may still read", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('graves'); update pgmq.meta set max_reads = 1 where queue_name = 'graves'")
      yield* sql(`select pgmq.send('graves', '{"to":"ann"}'), pgmq.send('graves', '{"to":"bob"}')`)
      yield* sql("select pgmq.read('graves', 0, 2)")
      yield* sql(`select pgmq.send('graves', '{"to":"ann"}')`)
      const left = values("select msg_id::int from pgmq.q_graves order by 1")
      const asClient = (text: string) => sql(`begin; set local role authenticated; ${text}; commit`)
      yield* asClient("select pgmq.svc_bury('graves', 100)")
      assert.deepStrictEqual(yield* left, [1, 2, 3])
      yield* sql(`grant select, update on pgmq.q_graves to authenticated;
        create policy own on pgmq.q_graves to authenticated using (message ->> 'to' = 'ann')`)
      yield* asClient("select pgmq.svc_bury('graves', 100); update pgmq.q_graves set enqueued_at = enqueued_at")
      assert.deepStrictEqual(yield* left, [2, 3])
      assert.deepStrictEqual(yield* values("select headers -> 'x-svc-dead' ->> 'msg_id' from pgmq.q_graves_dead"), [
        "1"
      ])
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read('graves', 30, 10)"), [3])
      assert.deepStrictEqual(yield* left, [3])
    })
  )

  it.effect("refuse names, delays and timeouts that are not ones", () =>
    Effect.gen(function* () {
      for (const name of ["", "a b", "a;drop table x", 'a"b', "ü", "a.b", "x".repeat(48), "a\nb"]) {
        assert.match(yield* failure(sql("select pgmq.create($1)", [name])), /1 to 47 letters/, name)
        assert.match(yield* failure(sql("select pgmq.send($1, '1')", [name])), /1 to 47 letters/, name)
      }
      const longest = "Q-".repeat(23) + "x"
      yield* sql("select pgmq.create($1)", [longest])
      yield* sql("select pgmq.create_fifo_index($1)", [longest])
      yield* sql("select pgmq.send($1, '1')", [longest])
      assert.match(yield* failure(sql("select pgmq.create($1)", [longest.toLowerCase()])), /differs in case only/)
      assert.match(yield* failure(sql(`select pgmq.send('${longest}', '1', -1)`)), /delay must be 0/)
      assert.match(yield* failure(sql(`select pgmq.read('${longest}', -1, 1)`)), /timeout must be 0/)
      assert.match(yield* failure(sql(`select pgmq.read('${longest}', 1, -1)`)), /number of messages/)
      assert.match(yield* failure(sql(`select pgmq.set_vt('${longest}', 1, -1)`)), /timeout must be 0/)
      assert.match(
        yield* failure(sql(`select pgmq.send_batch('${longest}', array['1','2']::jsonb[], array['{}']::jsonb[])`)),
        /as many headers/
      )
      assert.deepStrictEqual(yield* ids(`select msg_id from pgmq.read('${longest}', 1, 1)`), [1])
    })
  )

  it.effect("give each message to one of many readers, and to another after its timeout", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('many')")
      yield* sql("select pgmq.send_batch('many', array(select to_jsonb(n) from generate_series(1, 200) n))")
      const reader = Effect.scoped(
        Effect.gen(function* () {
          const ask = yield* session
          const taken: Array<number> = []
          for (;;) {
            const rows = yield* ask("select msg_id from pgmq.read('many', 60, 7)")
            if (rows.length === 0) return taken
            taken.push(...rows.map(({ msg_id }) => Number(msg_id)))
          }
        })
      )
      const taken = (yield* Effect.all([reader, reader, reader], { concurrency: 3 })).flat()
      assert.deepStrictEqual(
        taken.toSorted((one, other) => one - other),
        Array.from({ length: 200 }, (_, n) => n + 1)
      )
      yield* sql("update pgmq.q_many set vt = now() where msg_id = 7")
      assert.deepStrictEqual(yield* sql("select read_ct from pgmq.read('many', 60, 7)"), [{ read_ct: 2 }])
    })
  )

  it.effect("keep the order of a group among readers", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('fifo')")
      yield* sql("select pgmq.create_fifo_index('fifo')")
      yield* sql(`select pgmq.send_batch('fifo', array['1','2','3','4']::jsonb[],
        array['{"x-pgmq-group":"a"}','{"x-pgmq-group":"a"}','{"x-pgmq-group":"b"}','{"x-pgmq-group":"b"}']::jsonb[])`)
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read_grouped_rr('fifo', 0, 3)"), [1, 3, 2])
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read_grouped('fifo', 60, 1)"), [1])
      // Group a waits for its first message.
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read_grouped('fifo', 60, 9)"), [3, 4])
      yield* Effect.scoped(
        Effect.gen(function* () {
          const ask = yield* session
          yield* sql("select pgmq.delete('fifo', 1)")
          yield* ask("begin")
          yield* ask("select pgmq.read_grouped('fifo', 60, 1)")
          assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read_grouped('fifo', 60, 9)"), [])
          yield* ask("rollback")
        })
      )
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read_grouped('fifo', 60, 9)"), [2])
    })
  )

  it.effect("never give messages of a group to two readers at once, or out of order", () =>
    Effect.gen(function* () {
      const [groups, each] = [4, 30]
      yield* sql("select pgmq.create('lanes'); select pgmq.create_fifo_index('lanes')")
      yield* sql(
        `select pgmq.send_batch('lanes', array_agg(to_jsonb(n) order by n), array_agg(jsonb_build_object('x-pgmq-group', (n % ${groups})::text) order by n))
         from generate_series(0, ${groups * each - 1}) n`
      )
      const held = new Map<number, number>()
      const order: Array<number> = []
      const consumer = (reads: string) =>
        Effect.scoped(
          Effect.gen(function* () {
            const ask = yield* session
            while (order.length < groups * each) {
              const rows = yield* ask(`select msg_id, message from pgmq.${reads}('lanes', 60, 3) order by msg_id`)
              const numbers = rows.map(({ message }) => Number(message))
              const mine = new Set(numbers.map((n) => n % groups))
              for (const one of mine) assert.strictEqual(held.get(one) ?? 0, 0, "a group is with another reader")
              for (const one of mine) held.set(one, 1)
              yield* Effect.yieldNow
              order.push(...numbers)
              for (const one of mine) held.delete(one)
              yield* ask("select pgmq.delete('lanes', $1::int8[])", [rows.map(({ msg_id }) => msg_id)])
            }
          })
        )
      yield* Effect.all([consumer("read_grouped"), consumer("read_grouped_rr"), consumer("read_grouped")], {
        concurrency: 3
      })
      for (let one = 0; one < groups; one++) {
        const own = order.filter((n) => n % groups === one)
        assert.deepStrictEqual(
          own,
          Array.from({ length: each }, (_, n) => n * groups + one)
        )
      }
    })
  )

  it.effect("move a message that was read too often to the dead letters", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('poison')")
      yield* sql("update pgmq.meta set max_reads = 2 where queue_name = 'poison'")
      yield* sql(`select pgmq.send('poison', '{"bad":true}', '{"h":1}'::jsonb)`)
      for (const _ of [1, 2]) assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read('poison', 0, 1)"), [1])
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read('poison', 0, 1)"), [])
      const [dead] = yield* sql("select message, headers from pgmq.q_poison_dead")
      assert.deepStrictEqual(dead?.["message"], { bad: true })
      const { h, "x-svc-dead": origin } = (dead ?? {})["headers"] as {
        h: number
        "x-svc-dead": Record<string, unknown>
      }
      assert.deepStrictEqual([h, origin["queue"], origin["msg_id"], origin["read_ct"]], [1, "poison", 1, 2])
      // Names of queues have no case, so another spelling means the same dead letters.
      yield* sql("select pgmq.send('Poison', '2')")
      for (const spelling of ["POISON", "poison"]) yield* sql(`select from pgmq.read('${spelling}', 0, 1)`)
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read('Poison', 0, 1)"), [])
      assert.lengthOf(yield* sql("select from pgmq.q_poison_dead"), 2)
      assert.deepStrictEqual(yield* sql("select pgmq.drop_queue('POISON') as dropped"), [{ dropped: true }])
    })
  )

  it.effect("send with the rows of a transaction, or not at all", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('mails'); create table paid (id int)")
      yield* sql("begin; insert into paid values (1); select pgmq.send('mails', '1'); rollback")
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read('mails', 60, 9)"), [])
      yield* sql("begin; insert into paid values (1); select pgmq.send('mails', '2'); commit")
      assert.strictEqual((yield* ids("select msg_id from pgmq.read('mails', 60, 9)")).length, 1)
    })
  )

  it.effect("wait for a message", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('waiting')")
      const waiting = yield* Effect.forkChild(
        Effect.scoped(
          Effect.flatMap(session, (ask) => ask("select msg_id from pgmq.read_with_poll('waiting', 60, 1, 20, 10)"))
        )
      )
      yield* sql("select pgmq.send('waiting', '1')")
      assert.strictEqual((yield* Fiber.join(waiting)).length, 1)
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.read_with_poll('waiting', 60, 1, 0)"), [])
    })
  )

  it.effect("are closed to other roles until a grant and a policy open one", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('inbox')")
      yield* sql(`select pgmq.send('inbox', '{"to":"ann"}')`)
      yield* sql(`select pgmq.send('inbox', '{"to":"bob"}')`)
      const as = (text: string) =>
        Effect.scoped(
          Effect.gen(function* () {
            const ask = yield* session
            yield* ask("set role authenticated")
            yield* ask(`select set_config('request.jwt.sub', 'ann', false)`)
            return yield* ask(text)
          })
        )
      for (const text of [
        "select pgmq.create('mine')",
        "select pgmq.drop_queue('inbox')",
        "select pgmq.purge_queue('inbox')",
        "select pgmq.send('inbox', '1')",
        "select pgmq.read('inbox', 60, 9)",
        "select pgmq.pop('inbox')",
        "select pgmq.delete('inbox', 1)",
        "select pgmq.archive('inbox', 1)",
        "select pgmq.set_vt('inbox', 1, 100)",
        "select pgmq.metrics('inbox')",
        "select pgmq.list_queues()",
        "select * from pgmq.q_inbox"
      ]) {
        assert.match(yield* failure(as(text)), /permission denied/, text)
      }
      yield* sql("grant select, insert, update, delete on pgmq.q_inbox to authenticated")
      assert.strictEqual((yield* as("select pgmq.read('inbox', 60, 9)")).length, 0)
      yield* sql(`create policy own on pgmq.q_inbox to authenticated
        using (message ->> 'to' = current_setting('request.jwt.sub')) with check (message ->> 'to' = current_setting('request.jwt.sub'))`)
      assert.deepStrictEqual(yield* as("select message from pgmq.read('inbox', 60, 9)"), [{ message: { to: "ann" } }])
      assert.deepStrictEqual(yield* as("select pgmq.delete('inbox', 2) as deleted"), [{ deleted: false }])
      assert.deepStrictEqual(yield* as("select pgmq.set_vt('inbox', 2, 100)"), [])
      assert.match(yield* failure(as(`select pgmq.send('inbox', '{"to":"bob"}')`)), /row-level security/)
      assert.deepStrictEqual(yield* as("select pgmq.purge_queue('inbox')::int as purged"), [{ purged: 1 }])
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq.q_inbox"), [2])
    })
  )
})

/** As before the migration, with a schema that others have made. */
const before = `drop schema pgmq cascade; create schema pgmq; create table pgmq.theirs (n int);
  delete from svc.migrations where name = 'queues'; delete from svc.settings where name = 'queues'`
const foreign = layerDatabase({ name: "queues_foreign", before })

layer(foreign, live)("a database with a schema pgmq of its own", (it) => {
  it.effect("keeps it as it is", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* values("select proname from pg_proc where pronamespace = 'pgmq'::regnamespace"), [])
      assert.deepStrictEqual(yield* values("select nspacl is null from pg_namespace where nspname = 'pgmq'"), [true])
    })
  )
})

const supabase = layerDatabase({
  name: "queues_supabase",
  settings: { SVC_SUPABASE: "true", SVC_DB_SCHEMAS: "public,pgmq_public" }
})
layer(supabase, live)("the schema pgmq_public", (it) => {
  it.effect("has what Supabase's clients call", () =>
    Effect.gen(function* () {
      yield* sql("select pgmq.create('todo')")
      assert.deepStrictEqual(yield* ids(`select pgmq_public.send(queue_name => 'todo', message => '1')`), [1])
      assert.deepStrictEqual(
        yield* ids(
          `select pgmq_public.send_batch(queue_name => 'todo', messages => array['2','3']::jsonb[], sleep_seconds => 0)`
        ),
        [2, 3]
      )
      assert.deepStrictEqual(
        yield* ids("select msg_id from pgmq_public.read(queue_name => 'todo', sleep_seconds => 60, n => 1)"),
        [1]
      )
      assert.deepStrictEqual(yield* ids("select msg_id from pgmq_public.pop(queue_name => 'todo')"), [2])
      assert.deepStrictEqual(yield* values("select pgmq_public.archive(queue_name => 'todo', message_id => 3)"), [true])
      assert.deepStrictEqual(yield* values("select pgmq_public.delete(queue_name => 'todo', message_id => 1)"), [true])
    })
  )
})
