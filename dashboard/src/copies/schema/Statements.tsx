import type { SchemaDifference } from "./queries.ts"

type Statement = SchemaDifference["statements"][number]

const verbBadges = { create: ["good", "create"], alter: ["", "change"], drop: ["warn", "drop"] } as const

const Marks = ({ of }: { of: Statement }) => {
  const [colour, verb] = verbBadges[of.verb]
  return (
    <>
      <span className={`badge ${colour}`}>{verb}</span> {of.kind} <b>{of.object}</b>
      {of.destructive ? <span className="badge bad">deletes values</span> : null}
      {of.rewrites ? <span className="badge warn">locks and rewrites the table</span> : null}
    </>
  )
}

/** The statements in their order, each with what it does. */
export const Statements = ({ of: { statements, transactions } }: { of: SchemaDifference }) => (
  <ol className="schema-statements" aria-label="Statements">
    {statements.map((one, at) => (
      <li key={at}>
        {transactions > 1 && one.transaction !== statements[at - 1]?.transaction ? (
          <p className="hint">Transaction {one.transaction}, a migration of its own</p>
        ) : null}
        <p className="schema-marks">
          <Marks of={one} />
        </p>
        {/* A region that scrolls must be reachable by keyboard. */}
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
        <pre className="code" tabIndex={0} role="region" aria-label={`SQL of statement ${at + 1}`}>
          {one.sql}
        </pre>
      </li>
    ))}
  </ol>
)
