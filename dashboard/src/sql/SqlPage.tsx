import "./sql.css"
import { useQueryClient } from "@tanstack/react-query"
import { useRef, useState } from "react"
import { useCatalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { ago, plural } from "../ui/format.ts"
import { mod } from "../ui/keys.ts"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { Switch } from "../ui/Field.tsx"
import { copy } from "../ui/toast.ts"
import { ApiError } from "../wire/ApiError.ts"
import { service, type Viewer } from "../wire/viewer.ts"
import { csvOf, jsonOf, markdownOf } from "./copies.ts"
import { Editor, type EditorHandle } from "./Editor.tsx"
import { Output, type Shown } from "./Output.tsx"
import { explainPrefix, type Result, runStatements, statementsBefore } from "./run.ts"
import { placeOf, type Statement } from "./statements.ts"
import { ranBefore, remember, useTabs } from "./store.ts"
import { Tabs } from "./Tabs.tsx"
import { ViewAs } from "./ViewAs.tsx"

const limits = [100, 1000, 10_000]
/** Commands after which tables may look different. */
const changesCatalogue = /^(?:CREATE|ALTER|DROP|COMMENT|GRANT|REVOKE|DO|SELECT INTO)/

/** Asked once for each load of the page. */
let writesConfirmed = false

const Copies = ({ result }: { result: Result }) => (
  <Popover icon="copy" label="Copy the result" trigger="Copy" kind="quiet" align="end">
    {(close) => (
      <Menu>
        {(
          [
            ["CSV", csvOf],
            ["JSON", jsonOf],
            ["Markdown", markdownOf]
          ] as const
        ).map(([name, textOf]) => (
          <MenuItem
            key={name}
            onClick={() => {
              close()
              void copy(textOf(result), name)
            }}
          >
            {name}
          </MenuItem>
        ))}
      </Menu>
    )}
  </Popover>
)

const History = ({ onChoose }: { onChoose: (text: string) => void }) => (
  <Popover icon="history" label="History" kind="quiet">
    {(close) => {
      const all = ranBefore().slice(0, 30)
      return (
        <Menu>
          <p className="menu-head">Run in this browser</p>
          {all.length === 0 ? <p className="menu-head">Nothing yet.</p> : null}
          {all.map(({ at, text }) => (
            <MenuItem
              key={at}
              note={ago(new Date(at).toISOString())}
              onClick={() => {
                close()
                onChoose(text)
              }}
            >
              {text.replaceAll(/\s+/g, " ").slice(0, 60)}
            </MenuItem>
          ))}
        </Menu>
      )
    }}
  </Popover>
)

/** Where PostgreSQL found the error, in the editor. */
const placeOfError = (error: unknown, statements: ReadonlyArray<Statement>, before: number, prefix: string) => {
  if (!(error instanceof ApiError) || error.body.position === undefined) return undefined
  const statement = statements[(error.body.statement_index ?? before) - before]
  return statement === undefined ? undefined : placeOf(statement, error.body.position, prefix)
}

export const SqlPage = () => {
  const catalogue = useCatalogue()
  const client = useQueryClient()
  const { choose, close, current, open, tabs, write } = useTabs()
  const [shown, setShown] = useState<Shown>({ tag: "nothing" })
  const [writable, setWritable] = useState<ReadonlySet<number>>(new Set())
  const [asking, setAsking] = useState(false)
  const [viewer, setViewer] = useState<Viewer>(service)
  const [rowLimit, setRowLimit] = useState(1000)
  const editor = useRef<EditorHandle>(null)
  const running = useRef<AbortController>(null)
  const writes = writable.has(current.id)

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
      const { millis, results } = await runStatements(sent, options)
      remember({ at: Date.now(), text, millis })
      const result = results.at(-1)
      if (result !== undefined) setShown({ tag: "result", result, millis, statements: results.length })
      if (results.some(({ command }) => changesCatalogue.test(command))) {
        void client.invalidateQueries({ queryKey: ["catalogue"] })
        void client.invalidateQueries({ queryKey: ["facts"] })
      }
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
      <Tabs tabs={tabs} current={current.id} onChoose={choose} onOpen={open} onClose={close} />
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
        <ViewAs viewer={viewer} onUse={setViewer} />
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
            {shown.result.columns.length === 0 ? null : <Copies result={shown.result} />}
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
