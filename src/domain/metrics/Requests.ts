import { type Minutes } from "../requests/Minutes.ts"
import { type Sample, sampleOf } from "./Sample.ts"

/** The samples of what the request log has counted. */
export const samplesOfRequests = (counts: Minutes): ReadonlyArray<Sample> =>
  counts.total.flatMap(([route, method, { bytes, latencies, millis, statuses }]) => {
    const labels = { method, route: route === "" ? "none" : route }
    return [
      ...Array.from(statuses, ([status, count]) =>
        sampleOf("svc_http_requests_total", { ...labels, status: String(status) }, count)
      ),
      sampleOf("svc_http_request_duration_seconds", labels, { ...latencies.upToBounds, sum: millis / 1000 }),
      sampleOf("svc_http_response_bytes_total", labels, bytes)
    ]
  })
