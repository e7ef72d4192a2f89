import { count, plural } from "../ui/format.ts"
import { drawingOf, height, milliseconds, width } from "./chart.ts"
import type { Minute } from "./queries.ts"

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "UTC" })

const wordsOf = ({ errors, minute, p95, refused, requests }: Minute) =>
  `${clock.format(new Date(minute))} UTC: ${plural(requests, "request")}, ${refused} refused, ${plural(errors, "error")}, p95 ${milliseconds(p95)}`

/** Requests of the last hour, by minute. What it shows is in words beside it and in its titles. */
export const Chart = ({ minutes }: { minutes: ReadonlyArray<Minute> }) => {
  const { bars, line, longest, mostRequests } = drawingOf(minutes)
  const sum = (of: "requests" | "refused" | "errors") => minutes.reduce((all, minute) => all + minute[of], 0)
  const label = `Requests by minute: ${count(sum("requests"))} in the last hour, ${count(sum("refused"))} refused, ${plural(sum("errors"), "error")}`
  return (
    <figure className="request-chart">
      <div className="request-plot">
        <span>{count(mostRequests)}</span>
        <svg role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none">
          {bars.map(({ parts, width: wide, x }, at) => (
            <g key={minutes[at]?.minute}>
              <title>{minutes[at] === undefined ? "" : wordsOf(minutes[at])}</title>
              <rect className="ground" x={x} y={0} width={wide} height={height} />
              {parts.map(({ height: high, kind, y }) => (
                <rect key={kind} className={kind} x={x} y={y} width={wide} height={high} />
              ))}
            </g>
          ))}
          <path d={line} vectorEffect="non-scaling-stroke" />
        </svg>
        <span>{milliseconds(longest)}</span>
      </div>
      <figcaption>
        <span>60 minutes ago</span>
        <ul>
          <li className="fine">requests</li>
          <li className="refused">refused (4xx)</li>
          <li className="errors">errors (5xx)</li>
          <li className="p95">p95, on the right</li>
        </ul>
        <span>now</span>
      </figcaption>
    </figure>
  )
}
