import { useRef, useState } from "react"
import type { Table } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import { count } from "../ui/format.ts"
import { parseObject } from "../ui/json/json.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { type Outcome, testAs, type Verdict } from "./tester.ts"

type Role = "anon" | "authenticated"

const words = { SELECT: "read", UPDATE: "change", DELETE: "delete" } as const

const columnsOf = (total: number): ReadonlyArray<ListColumn<Verdict>> => [
  { name: "May", cell: ({ command }) => <b>{words[command]}</b> },
  {
    name: "Rows",
    end: true,
    cell: ({ rows }) => (
      <>
        {count(rows)} <span className="faint">of {count(total)}</span>
      </>
    )
  },
  {
    name: "Policies that apply",
    cell: ({ policies }) =>
      policies.length === 0 ? (
        <span className="faint">none</span>
      ) : (
        <span className="policy-hits">
          {policies.map(({ policy, rows }) => (
            <span key={policy.name}>
              {policy.name} <span className="badge">{count(rows)}</span>
            </span>
          ))}
        </span>
      )
  }
]

/** Answers "why can't this user see this row?": counts as the caller, and shows which policy gives which rows. */
export const Tester = ({ table }: { table: Table }) => {
  const [role, setRole] = useState<Role>("authenticated")
  const [sub, setSub] = useState("")
  const [claims, setClaims] = useState("{}")
  const [outcome, setOutcome] = useState<Outcome>()
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const running = useRef<AbortController>(null)
  const parsed = parseObject(claims)
  const run = async () => {
    if ("problem" in parsed && role === "authenticated") return
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setBusy(true)
    setFailure(undefined)
    try {
      setOutcome(await testAs(table, { role, sub, claims }, controller.signal))
    } catch (error) {
      if (controller.signal.aborted) return
      setOutcome(undefined)
      setFailure(error)
    }
    setBusy(false)
  }
  return (
    <section className="card policy-tester" aria-label="Tester">
      <h3>
        View as <small>what may this caller do with {table.name}? Nothing is changed.</small>
      </h3>
      <form
        className="policy-row"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <div className="labelled">
          <label htmlFor="tester-role">Caller</label>
          <select
            id="tester-role"
            className="field"
            value={role}
            onChange={(event) => setRole(event.target.value === "anon" ? "anon" : "authenticated")}
          >
            <option value="authenticated">a signed-in user</option>
            <option value="anon">an anon key without a user</option>
          </select>
        </div>
        {role === "authenticated" ? (
          <>
            <Field label="User (claim sub)" value={sub} spellCheck={false} autoComplete="off" onText={setSub} />
            <Field
              label="Further claims"
              value={claims}
              spellCheck={false}
              autoComplete="off"
              problem={"problem" in parsed ? parsed.problem : undefined}
              onText={setClaims}
            />
          </>
        ) : null}
        <Button icon="eye" type="submit" busy={busy}>
          Test
        </Button>
      </form>
      <div aria-live="polite" className="policy-outcome">
        {failure === undefined ? null : <Problem error={failure} title="This caller can't read the table" />}
        {outcome === undefined ? null : (
          <>
            <List
              label="What this caller may do"
              columns={columnsOf(outcome.total)}
              rows={outcome.verdicts}
              keyOf={({ command }) => command}
            />
            {outcome.sample.length === 0 ? null : (
              <>
                <h4>Rows that it sees, the first {outcome.sample.length}</h4>
                <pre className="policy-sql">{outcome.sample.map((row) => JSON.stringify(row)).join("\n")}</pre>
              </>
            )}
          </>
        )}
      </div>
    </section>
  )
}
