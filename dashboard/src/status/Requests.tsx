import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { count } from "../ui/format.ts"
import { Facts } from "../ui/page/Facts.tsx"
import { call } from "../wire/call.ts"

/** Requests of apps in the last hour. Shows nothing until it is known, as the rest of the page does not depend on it. */
export const Requests = () => {
  const { data } = useQuery({
    queryKey: ["status", "requests"],
    queryFn: ({ signal }) => call("GET /api/requests/minutes", { query: { dashboard: "false" }, signal }),
    refetchInterval: 10_000,
    retry: false
  })
  if (data === undefined) return null
  const sum = (of: "requests" | "refused" | "errors") => data.minutes.reduce((all, minute) => all + minute[of], 0)
  return (
    <section className="part" aria-label="Requests">
      <header>
        <h3>Requests of the last hour</h3>
        <Link className="button quiet" to="/requests">
          All requests
        </Link>
      </header>
      <Facts
        facts={[
          ["Requests", count(sum("requests"))],
          ["Refused", count(sum("refused"))],
          ["Errors", count(sum("errors"))]
        ]}
      />
    </section>
  )
}
