import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type ChartQuery } from "../../../src/domain/charts/Points.ts"
import { ChartHistory } from "../../../src/services/charts/History.ts"
import { makeChartRecorder } from "../../../src/services/charts/Recorder.ts"
import { RequestLog } from "../../../src/services/requests/RequestLog.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

const minute = 60_000
/** The start of the last hour that has ended. */
const hour = Math.floor(Date.now() / 3_600_000 - 1) * 3_600_000
const iso = (at: number) => new Date(at).toISOString()

/** A process with counts of its own. */
const makeProcess = (begun: number) =>
  Effect.gen(function* () {
    const log = yield* RequestLog
    const recorder = yield* makeChartRecorder(begun)
    return {
      ...recorder,
      ask: (at: number, status: number, millis: number, dashboard = false) =>
        log.record({
          id: "x",
          at,
          method: "GET",
          path: "/v1/db/notes",
          route: "/v1/db/:table",
          status,
          millis,
          bytes: 1,
          code: "",
          keyId: 1,
          keyLabel: "",
          identity: "",
          dashboard
        })
    }
  }).pipe(Effect.provide(Layer.fresh(RequestLog.layer)))

const read = (query: ChartQuery) => Effect.flatMap(ChartHistory, (history) => history.read(query))

const layerTest = ChartHistory.layer.pipe(Layer.provideMerge(layerDatabase({ name: "charts" })))

layer(layerTest, live)("the recorder of charts", (it) => {
  it.effect("adds up what all processes count, in steps of a minute, ten minutes and an hour", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* makeProcess(hour), yield* makeProcess(hour)]
      for (let n = 0; n < 20; n++) one.ask(hour + 1000, 200, 10)
      other.ask(hour + 2000, 404, 2000)
      other.ask(hour + 3000, 500, 1)
      other.ask(hour + 3000, 200, 1, true)
      // Of the next minute, which the first round does not know to have ended.
      one.ask(hour + minute + 1000, 200, 1)
      yield* Effect.all([one.round(hour + minute + 100), other.round(hour + minute + 200)], { concurrency: 2 })
      yield* Effect.all([one.round(hour + 12 * minute), other.round(hour + 12 * minute)], { concurrency: 2 })
      // Nothing twice.
      yield* one.round(hour + 12 * minute)

      const range = { from: iso(hour), to: iso(hour + 20 * minute) }
      const minutes = (yield* read({ ...range, step: "60" })).points
      assert.deepInclude(minutes[0], { at: iso(hour), requests: 22, refused: 1, errors: 1 })
      assert.isBelow(minutes[0]?.p50 ?? 0, 12)
      assert.closeTo(minutes[0]?.p95 ?? 0, 10, 2)
      assert.isAbove(minutes[0]?.connections ?? 0, 0)
      assert.isAbove(minutes[0]?.database_bytes ?? 0, 1_000_000)
      assert.deepInclude(minutes[1] ?? {}, { requests: 1, p95: minutes[1]?.p50, connections: null })
      // Measured by one, at the minute before each round.
      assert.deepStrictEqual(
        minutes.filter(({ connections }) => connections !== null).map(({ at }) => at),
        [iso(hour), iso(hour + 11 * minute)]
      )
      const tens = (yield* read({ ...range, step: "600" })).points
      assert.deepStrictEqual(
        tens.map(({ at, requests }) => [at, requests]),
        [
          [iso(hour), 23],
          [iso(hour + 10 * minute), 0]
        ]
      )
      const [whole] = (yield* read({ ...range, step: "3600" })).points
      assert.deepInclude(whole, { at: iso(hour), requests: 23, refused: 1, errors: 1 })
      assert.isAbove(whole?.database_bytes ?? 0, 1_000_000)
    })
  )

  it.effect("makes up for the minutes of an outage, records the last one when it ends, and forgets old points", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const later = hour + 30 * minute
      const one = yield* makeProcess(later)
      one.ask(later, 200, 1)
      one.ask(later + minute, 200, 1)
      yield* sql("alter table svc.chart_points rename to gone")
      const exit = yield* Effect.exit(one.round(later + minute))
      assert.isTrue(exit._tag === "Failure")
      yield* sql("alter table svc.gone rename to chart_points")
      yield* one.finish(later + minute)
      const found = (yield* read({ from: iso(later), to: iso(later + 10 * minute), step: "60" })).points
      assert.deepStrictEqual(
        found.map(({ requests }) => requests),
        [1, 1]
      )

      yield* sql(`insert into svc.chart_points (step, at) select step, now() - make_interval(days => days)
        from unnest(array[60, 600, 3600]) step cross join unnest(array[2, 8, 31]) days`)
      const next = hour + 41 * minute
      yield* (yield* makeProcess(next)).round(next)
      const old = yield* sql(`select step, (now()::date - at::date) as days from svc.chart_points
        where at < now() - interval '1 day 12 hours' order by step, at desc`)
      assert.deepStrictEqual(
        old.map(({ days, step }) => [step, days]),
        [
          [600, 2],
          [3600, 2],
          [3600, 8]
        ]
      )
    })
  )

  it.effect("chooses the step that is kept for as long, and refuses what would be too many points", () =>
    Effect.gen(function* () {
      const ago = (hours: number) => iso(Date.now() - hours * 3_600_000)
      const steps = yield* Effect.forEach([1, 23, 25, 160, 200, 720], (hours) => read({ from: ago(hours) }))
      assert.deepStrictEqual(
        steps.map(({ step }) => step),
        [60, 60, 600, 600, 3600, 3600]
      )
      assert.isAbove(steps[0]?.max_connections ?? 0, 0)
      for (const query of [
        { from: ago(1), to: ago(2) },
        { from: ago(48), step: "60" },
        { from: "0001-01-01" }
      ] as const) {
        const exit = yield* Effect.flip(read(query))
        assert.strictEqual(exit._tag, "InvalidRequest")
      }
    })
  )
})
