import { useMutation, useQueryClient } from "@tanstack/react-query"
import { runAlone } from "../catalogue/ddl.ts"
import { Button } from "../ui/Button.tsx"
import { bytes, count } from "../ui/format.ts"
import { Facts } from "../ui/page/Facts.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

type Advice = Wire["POST /api/insights/advice"]["success"]
type Proposal = Advice["proposals"][number]

const trials: Readonly<Record<Proposal["trial"], string>> = {
  hypothetical: "by a hypothetical index (hypopg)",
  built: "by an index that was built and taken back",
  estimate: "estimated from statistics: the table is large or in use, and hypopg is not there to try it"
}

const cost = (value: number) => count(Math.round(value))

const One = ({ before, proposal }: { before: number; proposal: Proposal }) => {
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: () => runAlone(proposal.sql),
    onSuccess: async () => {
      toast("Index created")
      await client.invalidateQueries({ queryKey: ["catalogue"] })
    }
  })
  const { columns, table } = proposal
  const part = Math.max(0, 100 * (1 - proposal.cost / before))
  return (
    <div className="advice" role="group" aria-label={`Index on ${table} (${columns.join(", ")})`}>
      <pre>{proposal.sql}</pre>
      <Facts
        facts={[
          ["Cost", `${cost(before)} → ${cost(proposal.cost)} (${part.toFixed(part > 99 ? 1 : 0)}% less)`],
          ["Found", trials[proposal.trial]],
          ["Size of the index", `about ${bytes(proposal.bytes)}; the table has ${bytes(proposal.table_bytes)}`],
          [
            "Writers pay",
            `${proposal.writes_per_second.toLocaleString("en", { maximumFractionDigits: 2 })} writes of ${table} a second write it too`
          ]
        ]}
      />
      {create.isError ? (
        <Problem error={create.error} title="The index was not created">
          What was built so far may stay as an invalid index, which is listed here after “Check again”.
        </Problem>
      ) : null}
      <div className="insight-actions">
        {create.isSuccess ? (
          <span className="badge good">created</span>
        ) : (
          <Button kind="main" icon="plus" busy={create.isPending} onClick={() => create.mutate()}>
            Create index
          </Button>
        )}
      </div>
    </div>
  )
}

/** An index for a slow statement, which is planned and never executed. */
export const StatementAdvice = ({ statement }: { statement: string }) => {
  const advice = useMutation({ mutationFn: () => call("POST /api/insights/advice", { payload: { statement } }) })
  return (
    <div aria-live="polite">
      {advice.data === undefined ? (
        <div className="insight-actions">
          <Button icon="insights" busy={advice.isPending} onClick={() => advice.mutate()}>
            Look for an index
          </Button>
        </div>
      ) : advice.data.proposals.length === 0 ? (
        <p className="soft">
          No index would make it much cheaper{advice.data.tried === 0 ? "" : `: ${advice.data.tried} tried`}. Its plan
          shows where the time goes.
        </p>
      ) : (
        advice.data.proposals.map((proposal) => (
          <One key={proposal.sql} before={advice.data.cost} proposal={proposal} />
        ))
      )}
      {advice.isError ? <Problem error={advice.error} title="There is no advice on this statement" /> : null}
    </div>
  )
}
