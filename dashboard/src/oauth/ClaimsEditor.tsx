import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { useAction } from "../ui/FormDialog.tsx"
import { Problem } from "../ui/Problem.tsx"
import { useUnsaved } from "../ui/page/unsaved.ts"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { configOf, newRow, problemOf, type Row, rowsOf } from "./claims.ts"
import { Preview } from "./Preview.tsx"
import type { Claims } from "./queries.ts"

const tokens: ReadonlyArray<readonly [Row["token"], title: string, words: string]> = [
  ["id", "ID token and userinfo", "What apps learn of the user who signs in."],
  ["access", "Access token", "What your API reads as request.jwt.claims."]
]

interface RowsProps {
  readonly title: string
  readonly rows: ReadonlyArray<Row>
  readonly onChange: (key: number, changes: Partial<Row> | undefined) => void
}

const Rows = ({ onChange, rows, title }: RowsProps) => (
  <ul className="claims">
    {rows.length === 0 ? null : (
      <li className="claims-head" aria-hidden="true">
        <span>Claim</span>
        <span>Template</span>
        <span>Required scope</span>
        <span />
      </li>
    )}
    {rows.map(({ key, name, scope, template }, at) => {
      const label = (of: string) => `${of} of ${name === "" ? `claim ${at + 1}` : name}, ${title}`
      const field = (of: "name" | "template" | "scope", value: string, placeholder: string) => (
        <input
          className="field"
          aria-label={label({ name: "Name", template: "Template", scope: "Scope" }[of])}
          placeholder={placeholder}
          spellCheck={false}
          value={value}
          onChange={({ target }) => onChange(key, { [of]: target.value })}
        />
      )
      return (
        <li key={key}>
          {field("name", name, "plan")}
          {field("template", template, "{{metadata_public.plan}}")}
          {field("scope", scope, "any scope")}
          <Button
            kind="quiet"
            icon="trash"
            label={`Remove ${name === "" ? `claim ${at + 1}` : name}, ${title}`}
            onClick={() => onChange(key, undefined)}
          />
        </li>
      )
    })}
  </ul>
)

/** The whole configuration, which is saved at once. */
export const ClaimsEditor = ({ claims }: { claims: Claims }) => {
  const queries = useQueryClient()
  const [rows, setRows] = useState(() => rowsOf(claims))
  const config = configOf(rows)
  const problem = problemOf(rows)
  const dirty = problem !== undefined || JSON.stringify(config) !== JSON.stringify(configOf(rowsOf(claims)))
  useUnsaved(dirty ? "The claims are not saved. Leave anyway?" : undefined)
  const { busy, failure, go } = useAction(() =>
    problem !== undefined
      ? undefined
      : call("PUT /api/oauth2/claims-config", { payload: config }).then((saved) => {
          queries.setQueryData(["oauth2", "claims"], saved)
          toast("Claims saved; tokens have them from the next consent on")
        })
  )
  const change = (key: number, changes: Partial<Row> | undefined) =>
    setRows((before) =>
      changes === undefined
        ? before.filter((row) => row.key !== key)
        : before.map((row) => (row.key === key ? { ...row, ...changes } : row))
    )
  return (
    <>
      <form
        aria-label="Claims"
        onSubmit={(event) => {
          event.preventDefault()
          go()
        }}
      >
        {tokens.map(([token, title, words]) => (
          <section key={token} className="part" aria-label={title}>
            <header>
              <h3>{title}</h3>
            </header>
            <p className="soft claims-about">{words}</p>
            <Rows title={title} rows={rows.filter((row) => row.token === token)} onChange={change} />
            <Button icon="plus" onClick={() => setRows([...rows, newRow(token)])}>
              Add a claim
            </Button>
          </section>
        ))}
        {problem === undefined ? null : <p className="field-problem">{problem}</p>}
        {failure === undefined ? null : <Problem error={failure} title="The claims were not saved" />}
        <footer className="claims-foot">
          {dirty ? <span className="badge warn">not saved</span> : <span className="faint">Saved</span>}
          <Button disabled={!dirty} onClick={() => setRows(rowsOf(claims))}>
            Discard
          </Button>
          <Button kind="main" type="submit" busy={busy} disabled={!dirty || problem !== undefined}>
            Save claims
          </Button>
        </footer>
      </form>
      <Preview config={config} />
    </>
  )
}
