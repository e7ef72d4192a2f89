import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { SqlActions } from "../ui/page/SqlActions.tsx"
import { place } from "../wire/place.ts"
import { OpenTables } from "./OpenTables.tsx"
import { StatementAdvice } from "./StatementAdvice.tsx"
import { type Finding, type Kind, kinds, nameOf } from "./kinds.ts"

/** Findings of a kind that are shown at first. */
const few = 5

const severities: Readonly<Record<Finding["severity"], readonly [kind: string, word: string]>> = {
  critical: ["bad", "critical"],
  warning: ["warn", "warning"],
  info: ["", "to consider"]
}

const One = ({ finding }: { finding: Finding }) => {
  const { details, explanation, fix, kind, object, severity } = finding
  const [badge, word] = severities[severity]
  const name = kind === "slow_statement" ? `Statement ${object.name}` : nameOf(object)
  const sql = fix ?? (kind === "slow_statement" ? String(details["statement"]) : undefined)
  return (
    <li aria-label={name}>
      <h4>
        <code>{name}</code> <span className={`badge ${badge}`}>{word}</span>
      </h4>
      <p>{explanation}</p>
      {sql === undefined ? null : <pre>{sql}</pre>}
      {kind === "slow_statement" && place.branch === undefined ? (
        <StatementAdvice statement={String(details["statement"])} />
      ) : null}
      <div className="insight-actions">
        {sql === undefined ? null : <SqlActions name={kinds[kind][0]} sql={sql} />}
        {kind === "table_without_row_security" && object.type === "table" && object.schema !== null ? (
          <Link
            className="button quiet"
            to="/policies/$schema/$table"
            params={{ schema: object.schema, table: object.name }}
          >
            Open policies
          </Link>
        ) : null}
      </div>
    </li>
  )
}

interface FindingsProps {
  readonly kind: Kind
  readonly findings: ReadonlyArray<Finding>
  /** There are more than the service lists. */
  readonly truncated: boolean
}

export const Findings = ({ findings: found, kind, truncated }: FindingsProps) => {
  const [all, setAll] = useState(false)
  // Many tables that are open for the same reason are one matter, with one remedy.
  const open = kind === "table_without_row_security" ? found.filter(({ object }) => object.type === "table") : []
  const together = open.length > few
  const findings = together ? found.filter((one) => !open.includes(one)) : found
  const [title, why] = kinds[kind]
  const shown = all ? findings : findings.slice(0, few)
  return (
    <section className="part insights" aria-label={title}>
      <header>
        <h3>{title}</h3>
        <span className="badge">
          {found.length}
          {truncated ? "+" : ""}
        </span>
      </header>
      <p className="soft">{why}</p>
      {open.length > 1 ? <OpenTables findings={open} truncated={truncated} listed={together} /> : null}
      <ul>
        {shown.map((finding) => (
          <One key={JSON.stringify(finding.object)} finding={finding} />
        ))}
      </ul>
      {findings.length > shown.length ? (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show all {findings.length}
        </Button>
      ) : null}
    </section>
  )
}
