import { inject } from "vitest"
import { sql } from "../client.ts"

/** Points of the last 30 days, with an hour in which nothing was recorded. */
export const makeChartPoints = () =>
  sql(
    inject("service"),
    `insert into svc.chart_points (step, at, requests, refused, errors, latencies, connections, active, slow, database_bytes)
     select step, to_timestamp(floor(extract(epoch from now()) / step) * step - n * step), 100 + 90 * sin(n / 9.0), n % 7, n % 3,
       array_fill(0, array[40]) || array[80, n % 20], 12, n % 5, n % 2, case when n % 10 = 0 then 1e8::int8 - n * 50000 end
     from unnest(array[60, 600, 3600]) step cross join generate_series(1, 720) n
     where n not between 20 and 24 on conflict do nothing`
  )
