import "./sql.css"
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { useCatalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { plural } from "../ui/format.ts"
import { mod } from "../ui/keys.ts"
import { Switch } from "../ui/Field.tsx"
import { Segments } from "../ui/page/Segments.tsx"
import { viewPlaceAs, ViewAs } from "../ui/page/ViewAs.tsx"
import { toastError, toastUndo } from "../ui/toast.ts"
import { ApiError, codeOf } from "../wire/ApiError.ts"
import type { Values } from "../ui/page/queries.ts"
import { place } from "../wire/place.ts"
import { remember } from "../workspace/history.ts"
import { type Item, readItem } from "../workspace/items.ts"
import { AllowWrites } from "./AllowWrites.tsx"
import type { Choice } from "./chart/columns.ts"
import { Editor, type EditorHandle } from "./Editor.tsx"
import { Copies, History } from "./Menus.tsx"
import { hasRows, Output, resultOf, type Shown } from "./Output.tsx"
import { Parameters } from "./Parameters.tsx"
import { explainPrefix, runStatements, statementsBefore } from "./run.ts"
import { Saved } from "./Saved.tsx"
import { placeOf, type Statement } from "./statements.ts"
import { type Tab, useTabs } from "./store.ts"
import { Running, Summary } from "./Summary.tsx"
import { Tabs } from "./Tabs.tsx"
import { useRuns } from "./useRuns.ts"

const views = [
  ["rows", "Rows"],
  ["chart", "Chart"]
] as const
const noChart: Choice = { on: false }
const limits = [100, 1000, 10_000]
/** Commands after which tables may look different. */
const changesCatalogue = /^(?:CREATE|ALTER|DROP|COMMENT|GRANT|REVOKE|DO|SELECT INTO)/

/** Asked once for each load of the page. */
let writesConfirmed = false

/** Where PostgreSQL found the error, in the editor. */
const placeOfError = (error: unknown, statements: ReadonlyArray<Statement>, before: number, prefix: string) => {
  if (!(error instanceof ApiError) || error.body.position === undefined) return undefined
  const statement = statements[(error.body.statement_index ?? before) - before]
  return statement === undefined ? undefined : placeOf(statement, error.body.position, prefix)
}

export const SqlPage = () => {
  const catalogue = useCatalogue()
  const client = useQueryClient()
  const { choose, close, current, give, giveAll, open, saved, tabs, write } = useTabs()
  const { saved: asked } = useSearch({ strict: false }) as { readonly saved?: unknown }
  const navigate = useNavigate()
  const runs = useRuns()
  const [writable, setWritable] = useState<ReadonlySet<number>>(new Set())
  const [asking, setAsking] = useState(false)
  const { viewer } = place
  const [rowLimit, setRowLimit] = useState(1000)
  const [charts, setCharts] = useState<ReadonlyMap<number, Choice>>(new Map())
  const [parameters, setParameters] = useState<ReadonlyArray<number>>([])
  /** Of which query a run was refused for want of a value, and how often. */
  const [refused, setRefused] = useState({ slot: 0, times: 0 })
  const editor = useRef<EditorHandle>(null)
  const { slot } = current
  const inView = useRef(slot)
  inView.current = slot
  const writes = writable.has(slot)
  const running = runs.isRunning(slot)
  const shown = runs.of(slot)
  const result = resultOf(shown)
  const chart = charts.get(slot) ?? noChart
  const showChart = (next: Choice) => setCharts(new Map(charts).set(slot, next))
  const openItem = ({ content, id, name, revision }: Item) => {
    if (!("sql" in content)) return
    const { chart, sql: text, values } = content
    const at = open({ name, text, values, saved: { id, revision } })
    if (chart !== undefined) setCharts((all) => new Map(all).set(at, chart))
  }
  useEffect(() => {
    if (asked === undefined) return
    readItem(Number(asked)).then(openItem, toastError)
    // The address names what was opened, not what the tabs become.
    void navigate({ to: "/sql", search: {}, replace: true })
    // Once for each address.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [asked])

  const allow = (on: boolean) => {
    const next = new Set(writable)
    if (on) next.add(slot)
    else next.delete(slot)
    setWritable(next)
  }
  const run = async (explain: boolean) => {
    const found = editor.current?.toRun() ?? []
    const statements = explain ? found.slice(0, 1) : found
    if (statements.length === 0) return
    editor.current?.mark(undefined, "")
    // Only those of the statements, so that the history has no others.
    const given = current.values ?? {}
    const numbers = statements.flatMap((one) => one.parameters)
    const values: Values = Object.fromEntries(
      numbers.flatMap((number) => (given[number] === undefined ? [] : [[number, given[number]]]))
    )
    if (numbers.some((number) => values[number] === undefined))
      return setRefused(({ times }) => ({ slot, times: times + 1 }))
    setRefused({ slot, times: 0 })
    const prefix = explain ? explainPrefix : ""
    const sent = statements.map((one) => ({ ...one, text: prefix + one.text }))
    const text = statements.map((one) => one.text).join(";\n")
    const ran = { sql: text, values, ...(place.branch === undefined ? {} : { branch: place.branch }) }
    await runs.run(slot, async (signal): Promise<Shown> => {
      try {
        // ANALYZE runs the statement: never as a write.
        const outcome = await runStatements(sent, { writes: writes && !explain, rowLimit, values, viewer, signal })
        const { millis, results } = outcome
        const rows = results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
        void remember(client, { ...ran, rows, milliseconds: Math.round(millis * 10) / 10 })
        if (results.some(({ command }) => changesCatalogue.test(command)))
          void client.invalidateQueries({ queryKey: ["catalogue"] })
        return { tag: "result", chosen: results.length - 1, ...outcome }
      } catch (error) {
        if (!signal.aborted) void remember(client, { ...ran, code: codeOf(error) ?? "UNREADABLE" })
        const place = signal.aborted ? undefined : placeOfError(error, statements, statementsBefore(viewer), prefix)
        // Another query may be in the editor meanwhile.
        if (place !== undefined && inView.current === slot) editor.current?.mark(place, (error as Error).message)
        return { tag: "failure", error }
      }
    })
  }
  const closeTab = (tab: Tab) => {
    runs.stop(tab.slot)
    const reopen = close(tab)
    if (tab.text.trim() !== "") toastUndo(`${tab.name} closed`, reopen)
  }

  return (
    <div className={`sql ${writes ? "writes" : ""}`}>
      <Tabs tabs={tabs} current={current} onChoose={choose} onOpen={() => open()} onClose={closeTab} />
      <div id="sql-panel" role="tabpanel" aria-label={current.name} className="sql-panel">
        <Editor
          key={slot}
          ref={editor}
          text={current.text}
          catalogue={catalogue.data}
          onChange={write}
          onParameters={setParameters}
          onRun={(explain) => void run(explain)}
        />
      </div>
      <div className="sql-bar">
        {parameters.length === 0 ? null : (
          <Parameters
            key={slot}
            numbers={parameters}
            values={current.values ?? {}}
            refused={refused.slot === slot ? refused.times : 0}
            onGive={give}
            onRun={(explain) => void run(explain)}
          />
        )}
        {running ? (
          <Button icon="stop" onClick={() => runs.stop(slot)}>
            Stop
          </Button>
        ) : (
          <Button kind="main" icon="play" keys={`${mod}↵`} onClick={() => void run(false)}>
            Run
          </Button>
        )}
        <Button icon="explain" onClick={() => void run(true)}>
          Explain
        </Button>
        <ViewAs viewer={viewer} legend="Run statements as" onUse={viewPlaceAs} />
        <Switch attention checked={writes} onChange={(on) => (on && !writesConfirmed ? setAsking(true) : allow(on))}>
          Allow writes
        </Switch>
        <span className="grow" />
        <p className="sql-sum" role="status">
          {running ? <Running /> : null}
          {running || shown.tag !== "result" || result === undefined ? null : (
            <Summary result={result} millis={shown.millis} />
          )}
        </p>
        {running || shown.tag !== "result" || result === undefined ? null : (
          <>
            {shown.results.length === 1 ? null : (
              <select
                className="field"
                aria-label="Result"
                value={shown.chosen}
                onChange={(event) => runs.show(slot, { ...shown, chosen: Number(event.target.value) })}
              >
                {shown.results.map(({ command }, at) => (
                  <option key={at} value={at}>
                    {at + 1}. {command}
                  </option>
                ))}
              </select>
            )}
            {hasRows(result) ? (
              <Segments
                label="View"
                options={views}
                value={chart.on ? "chart" : "rows"}
                onValue={(view) => showChart({ ...chart, on: view === "chart" })}
              />
            ) : null}
            <Copies result={result} sent={shown.sent} />
          </>
        )}
        <select
          className="field"
          aria-label="Rows to read at most"
          value={rowLimit}
          onChange={(event) => setRowLimit(Number(event.target.value))}
        >
          {limits.map((limit) => (
            <option key={limit} value={limit}>
              {plural(limit, "row")}
            </option>
          ))}
        </select>
        <Saved query={current} chart={chart} onSaved={saved} onOpen={openItem} />
        <History
          onChoose={({ sql, values }) => {
            giveAll(values ?? {})
            editor.current?.replace(sql)
          }}
        />
      </div>
      <div className={`sql-out ${running && shown.tag !== "nothing" ? "waiting" : ""}`} aria-busy={running}>
        <Output shown={shown} running={running} chart={chart} onChart={showChart} />
      </div>
      {asking ? (
        <AllowWrites
          name={current.name}
          onClose={() => setAsking(false)}
          onAllow={() => {
            writesConfirmed = true
            allow(true)
            setAsking(false)
          }}
        />
      ) : null}
    </div>
  )
}
