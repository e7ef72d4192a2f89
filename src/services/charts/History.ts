import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type ChartPoint, type ChartQuery, chartRange, type Charts } from "../../domain/charts/Points.ts"
import { type InvalidRequest, type Unavailable } from "../../domain/errors.ts"
import { Latencies } from "../../domain/requests/Latencies.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"

const Gauge = Schema.NullOr(Schema.Finite)
const Row = Schema.Struct({
  at: Schema.String,
  requests: Schema.Finite,
  refused: Schema.Finite,
  errors: Schema.Finite,
  latencies: Schema.Array(Schema.Finite),
  connections: Gauge,
  active: Gauge,
  slow: Gauge,
  database_bytes: Gauge
})

const pointOf = ({ latencies, ...row }: typeof Row.Type): ChartPoint => {
  const counts = new Latencies()
  counts.merge(latencies)
  return { ...row, p50: counts.percentile(0.5), p95: counts.percentile(0.95) }
}

const iso = (at: number) => new Date(at).toISOString()

/** What the charts of the last 30 days show. */
export class ChartHistory extends Context.Service<
  ChartHistory,
  { readonly read: (query: ChartQuery) => Effect.Effect<Charts, InvalidRequest | Unavailable> }
>()("svc/services/ChartHistory") {
  static readonly layer = Layer.effect(
    ChartHistory,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = queryRows(sql, Row)
      const limits = queryRows(sql, Schema.Struct({ most: Schema.Finite }))
      const read = Effect.fn("ChartHistory.read")(function* (query: ChartQuery) {
        const range = chartRange(query, yield* Clock.currentTimeMillis)
        if (!("step" in range)) return yield* range
        const { from, step, to } = range
        const found = yield* onOwnTables(
          rows(
            `select ${isoSql("at")} as at, requests::float8 as requests, refused::float8 as refused, errors::float8 as errors,
               latencies::float8[] as latencies, connections, active, slow, database_bytes::float8 as database_bytes
             from svc.chart_points where step = $1::int and at > $2::timestamptz - make_interval(secs => $1::int)
               and at < $3::timestamptz order by at`,
            [step, iso(from), iso(to)]
          )
        )
        const [limit] = yield* onOwnTables(limits("select current_setting('max_connections')::float8 as most"))
        return { from: iso(from), to: iso(to), step, max_connections: limit?.most ?? null, points: found.map(pointOf) }
      })
      return ChartHistory.of({ read })
    })
  )
}
