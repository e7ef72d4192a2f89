import { count } from "../ui/format.ts"
import { exactText } from "../wire/exact.ts"

interface Node {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly Alias?: string
  readonly "Actual Total Time"?: number
  readonly "Actual Rows"?: number
  readonly "Actual Loops"?: number
  readonly "Plan Rows": number
  readonly "Total Cost": number
  readonly "Rows Removed by Filter"?: number
  readonly "Shared Hit Blocks"?: number
  readonly "Shared Read Blocks"?: number
  readonly Plans?: ReadonlyArray<Node>
  readonly [name: string]: unknown
}
export interface PlanDocument {
  readonly Plan: Node
  readonly "Planning Time"?: number
  readonly "Execution Time"?: number
}

const conditions = [
  "Index Cond",
  "Recheck Cond",
  "Hash Cond",
  "Merge Cond",
  "Join Filter",
  "Filter",
  "Sort Key",
  "Group Key"
]
const spent = (node: Node) => (node["Actual Total Time"] ?? 0) * (node["Actual Loops"] ?? 1)

/** Numbers that were kept as PostgreSQL writes them (12.50), as numbers to calculate with. */
const numbers = (written: unknown): unknown => {
  const value = exactText(written)
  if (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value)) return Number(value)
  if (Array.isArray(value)) return value.map(numbers)
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, numbers(one)]))
    : value
}

export const Plan = ({ plan: written }: { plan: PlanDocument }) => {
  const plan = numbers(written) as PlanDocument
  const total = Math.max(plan["Execution Time"] ?? 0, spent(plan.Plan), 0.001)
  const rows: Array<{ node: Node; depth: number; own: number; cut: boolean }> = []
  // What a LIMIT stops early was not expected to be read whole.
  const walk = (node: Node, depth: number, cut: boolean) => {
    rows.push({
      node,
      depth,
      own: Math.max(0, spent(node) - (node.Plans ?? []).reduce((sum, one) => sum + spent(one), 0)),
      cut
    })
    for (const one of node.Plans ?? [])
      walk(
        one,
        depth + 1,
        node["Node Type"] === "Limit" || (cut && !/Sort|Aggregate|Hash$|Materialize/.test(node["Node Type"]))
      )
  }
  walk(plan.Plan, 0, false)
  return (
    <div className="plan" tabIndex={0} role="region" aria-label="Query plan">
      <p className="sum">
        <span>
          Ran in <b>{(plan["Execution Time"] ?? 0).toFixed(2)} ms</b>
        </span>
        <span>
          Planned in <b>{(plan["Planning Time"] ?? 0).toFixed(2)} ms</b>
        </span>
        <span>
          Slowest step <b>{rows.toSorted((a, b) => b.own - a.own)[0]?.node["Node Type"]}</b>
        </span>
      </p>
      <table>
        <thead>
          <tr>
            <th>Step</th>
            <th className="num">Own time</th>
            <th className="num">Rows</th>
            <th className="num">Planner expected</th>
            <th className="num">Pages</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ cut, depth, node, own }, index) => {
            const loops = node["Actual Loops"] ?? 1
            const got = Math.round((node["Actual Rows"] ?? 0) * loops)
            const expected = Math.round(node["Plan Rows"] * loops)
            const off = Math.max(got, 1) / Math.max(expected, 1)
            const removed = node["Rows Removed by Filter"]
            return (
              <tr key={index}>
                <td style={{ paddingLeft: 8 + depth * 18 }}>
                  <div className="node">
                    <b>{node["Node Type"]}</b> <code>{node["Relation Name"] ?? node["Index Name"] ?? ""}</code>
                    {removed !== undefined && removed * loops > 1000 ? (
                      <span className="badge warn">threw away {count(removed * loops)} rows</span>
                    ) : null}
                  </div>
                  {conditions.map((name) =>
                    node[name] === undefined ? null : (
                      <div key={name} className="cond">
                        {name}: {String(node[name])}
                      </div>
                    )
                  )}
                </td>
                <td className="num">
                  {own.toFixed(2)} ms
                  <span className="share">
                    <i
                      className={own / total > 0.4 ? "hot" : ""}
                      style={{ width: `${Math.max(1, (own / total) * 100)}%` }}
                    />
                  </span>
                </td>
                <td className="num">{count(got)}</td>
                <td className="num">
                  {count(expected)}{" "}
                  {!cut && (off >= 10 || off <= 0.1) ? (
                    <span className="badge warn">
                      {off >= 1 ? `${Math.round(off)}× more` : `${Math.round(1 / off)}× fewer`}
                    </span>
                  ) : null}
                </td>
                <td className="num">{count((node["Shared Hit Blocks"] ?? 0) + (node["Shared Read Blocks"] ?? 0))}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
