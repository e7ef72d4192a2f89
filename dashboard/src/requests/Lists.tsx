import { Link } from "@tanstack/react-router"
import { Button } from "../ui/Button.tsx"
import { bytes, count } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { When } from "../ui/page/When.tsx"
import { copy } from "../ui/toast.ts"
import { milliseconds } from "./chart.ts"
import type { Logged, RouteCounts } from "./queries.ts"

const kindOf = (status: number) => (status >= 500 ? "bad" : status >= 400 ? "warn" : status < 300 ? "good" : "")

const Who = ({ request: { dashboard, identity, key } }: { request: Logged }) => (
  <>
    {key === null ? (
      identity === null ? (
        <span className="faint">none</span>
      ) : (
        <>identity {identity.slice(0, 8)}…</>
      )
    ) : key.label === "" ? (
      `Key ${key.id}`
    ) : (
      key.label
    )}
    {dashboard ? <span className="badge">dashboard</span> : null}
  </>
)

const columns: ReadonlyArray<ListColumn<Logged>> = [
  { name: "Arrived", cell: ({ at }) => <When at={at} /> },
  {
    name: "Request",
    cell: ({ method, path }) => (
      <code className="request-line" title={path}>
        {method} {path}
      </code>
    )
  },
  {
    name: "Status",
    cell: ({ code, status }) => (
      <>
        <span className={`badge ${kindOf(status)}`}>{status}</span> {code === null ? null : <small>{code}</small>}
      </>
    )
  },
  { name: "Took", end: true, cell: (request) => milliseconds(request.milliseconds) },
  { name: "Size", end: true, cell: (request) => (request.bytes === null ? "–" : bytes(request.bytes)) },
  { name: "Key", cell: (request) => <Who request={request} /> },
  {
    name: "Request id",
    actions: true,
    cell: ({ request_id, status }) => (
      <>
        {status < 500 ? null : (
          <Link to="/logs" search={{ request_id }} className="button quiet" aria-label={`Log lines of ${request_id}`}>
            Log
          </Link>
        )}
        <Button
          kind="quiet"
          icon="copy"
          label={`Copy request id ${request_id}`}
          onClick={() => void copy(request_id, "Request id")}
        />
      </>
    )
  }
]

export const RequestList = ({ requests }: { requests: ReadonlyArray<Logged> }) => (
  <List
    label="Latest requests"
    columns={columns}
    rows={requests}
    keyOf={({ at, path, request_id }) => `${at} ${request_id} ${path}`}
  />
)

const nameOf = ({ method, route }: RouteCounts) => `${method} ${route ?? "without a route"}`

interface RouteListProps {
  readonly routes: ReadonlyArray<RouteCounts>
  readonly onChoose: (route: RouteCounts) => void
}

export const RouteList = ({ onChoose, routes }: RouteListProps) => (
  <List
    label="Routes"
    columns={[
      {
        name: "Route",
        cell: (route) =>
          route.route === null ? (
            <span className="faint">{nameOf(route)}</span>
          ) : (
            <button type="button" className="link request-line" onClick={() => onChoose(route)}>
              {nameOf(route)}
            </button>
          )
      },
      { name: "Requests", end: true, cell: ({ requests }) => count(requests) },
      { name: "Refused", end: true, cell: ({ refused }) => count(refused) },
      {
        name: "Errors",
        end: true,
        cell: ({ errors }) => (errors === 0 ? "0" : <span className="badge bad">{count(errors)}</span>)
      },
      { name: "p50", end: true, cell: ({ p50 }) => milliseconds(p50) },
      { name: "p95", end: true, cell: ({ p95 }) => milliseconds(p95) },
      { name: "Sent", end: true, cell: (route) => bytes(route.bytes) }
    ]}
    rows={routes}
    keyOf={nameOf}
  />
)
