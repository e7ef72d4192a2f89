import "./sql.css"
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { useCatalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { plural } from "../ui/format.ts"
import { mod } from "../ui/keys.ts"
import { Switch } from "../ui/Field.tsx"
import { ViewAs } from "../ui/page/ViewAs.tsx"
import { savedQueries } from "../shell/saved.ts"
import { toastError } from "../ui/toast.ts"
import { ApiError } from "../wire/ApiError.ts"
import { service, type Viewer } from "../wire/viewer.ts"
import { Editor, type EditorHandle } from "./Editor.tsx"
import { Copies, History } from "./Menus.tsx"
import { Output, type Shown } from "./Output.tsx"
import { explainPrefix, runStatements, statementsBefore } from "./run.ts"
import { Saved } from "./Saved.tsx"
import { placeOf, type Statement } from "./statements.ts"
import { remember, useTabs } from "./store.ts"
import { Tabs } from "./Tabs.tsx"

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
  const { choose, close, current, open, rename, tabs, write } = useTabs()
  const { saved } = useSearch({ strict: false }) as { readonly saved?: unknown }
  const navigate = useNavigate()
  const [shown, setShown] = useState<Shown>({ tag: "nothing" })
  const [writable, setWritable] = useState<ReadonlySet<number>>(new Set())
  const [asking, setAsking] = useState(false)
  const [viewer, setViewer] = useState<Viewer>(service)
  const [rowLimit, setRowLimit] = useState(1000)
  const editor = useRef<EditorHandle>(null)
  const running = useRef<AbortController>(null)
  const writes = writable.has(current.id)
  useEffect(() => {
    if (saved === undefined) return
    const query = savedQueries().find(({ name }) => name === saved)
    if (query === undefined) toastError(new Error("This browser has no saved query with this name"))
    else open(query)
    // The address names what was opened, not what the tabs become.
    void navigate({ to: "/sql", search: {}, replace: true })
    // Once for each address.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [saved])

  const allow = (on: boolean) => {
    const next = new Set(writable)
    if (on) next.add(current.id)
    else next.delete(current.id)
    setWritable(next)
  }
  const run = async (explain: boolean) => {
    const found = editor.current?.toRun() ?? []
    const statements = explain ? found.slice(0, 1) : found
    if (statements.length === 0) return
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setShown({ tag: "running" })
    editor.current?.mark(undefined, "")
    const prefix = explain ? explainPrefix : ""
    const sent = statements.map(({ from, text }) => ({ from, text: prefix + text }))
    const text = statements.map((one) => one.text).join(";\n")
    try {
      // ANALYZE runs the statement: never as a write.
      const options = { writes: writes && !explain, rowLimit, viewer, signal: controller.signal }
      const { millis, results, sent: request } = await runStatements(sent, options)
      remember({ at: Date.now(), text, millis })
      const result = results.at(-1)
      if (result !== undefined) setShown({ tag: "result", result, millis, sent: request })
      if (results.some(({ command }) => changesCatalogue.test(command)))
        void client.invalidateQueries({ queryKey: ["catalogue"] })
    } catch (error) {
      if (controller.signal.aborted) return setShown({ tag: "nothing" })
      remember({ at: Date.now(), text, millis: undefined })
      setShown({ tag: "failure", error })
      const place = placeOfError(error, statements, statementsBefore(viewer), prefix)
      if (place !== undefined) editor.current?.mark(place, (error as Error).message)
    }
  }

  return (
    <div className={`sql ${writes ? "writes" : ""}`}>
      <Tabs tabs={tabs} current={current.id} onChoose={choose} onOpen={() => open()} onClose={close} />
      <div id="sql-panel" role="tabpanel" aria-label={current.name} className="sql-panel">
        <Editor
          key={current.id}
          ref={editor}
          text={current.text}
          catalogue={catalogue.data}
          onChange={write}
          onRun={(explain) => void run(explain)}
        />
      </div>
      <div className="sql-bar">
        {shown.tag === "running" ? (
          <Button icon="stop" onClick={() => running.current?.abort()}>
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
        <ViewAs viewer={viewer} legend="Run statements as" onUse={setViewer} />
        <Switch checked={writes} onChange={(on) => (on && !writesConfirmed ? setAsking(true) : allow(on))}>
          Allow writes
        </Switch>
        <span className="grow" />
        {shown.tag === "result" ? (
          <>
            <span className="badge good">{shown.result.command}</span>
            <span>
              {shown.result.truncated ? "first " : ""}
              {plural(shown.result.rows.length, "row")} · {Math.round(shown.millis)} ms
            </span>
            <Copies result={shown.result} sent={shown.sent} />
          </>
        ) : null}
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
        <Saved name={current.name} text={current.text} onSaved={rename} onOpen={open} />
        <History onChoose={(text) => editor.current?.replace(text)} />
      </div>
      <div className="sql-out" aria-live="polite">
        <Output shown={shown} />
      </div>
      {asking ? (
        <Dialog label="Allow writes" onClose={() => setAsking(false)}>
          <DialogBody
            title={`Allow writes in ${current.name}?`}
            buttons={
              <>
                <Button onClick={() => setAsking(false)}>Keep it read-only</Button>
                <Button
                  kind="danger"
                  onClick={() => {
                    writesConfirmed = true
                    allow(true)
                    setAsking(false)
                  }}
                >
                  Allow writes
                </Button>
              </>
            }
          >
            <p>
              Statements of this query will then run with all rights, DELETE and DROP included, and are committed at
              once. What they change can&apos;t be undone here.
            </p>
          </DialogBody>
        </Dialog>
      ) : null}
    </div>
  )
}
