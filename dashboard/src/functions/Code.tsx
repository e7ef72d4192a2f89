import { useQueryClient } from "@tanstack/react-query"
import { type KeyboardEvent, type Ref, useImperativeHandle, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { useAction } from "../ui/FormDialog.tsx"
import { useUnsaved } from "../ui/page/unsaved.ts"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { ApiError } from "../wire/ApiError.ts"
import { call } from "../wire/call.ts"
import { CodeEditor, type Mark } from "./CodeEditor.tsx"
import { FileForm } from "./FileForm.tsx"
import { type CodePlace, piecesOf } from "./places.ts"
import type { Files } from "./queries.ts"

export interface CodeHandle {
  /** Opens a file at a place. */
  readonly show: (place: CodePlace) => void
}

interface CodeProps {
  readonly name: string
  readonly deployed: Files
  readonly options: { readonly entrypoint: string; readonly verify_jwt?: boolean }
  readonly ref: Ref<CodeHandle>
}

/** Deno's lock belongs to the files, and is not edited: the versions of imports stay when the code changes. */
const lock = "deno.lock"
const editable = (files: Files): Files => Object.fromEntries(Object.entries(files).filter(([path]) => path !== lock))
const same = (one: Files, other: Files) =>
  JSON.stringify(Object.entries(one).toSorted()) === JSON.stringify(Object.entries(other).toSorted())

/** The draft, which follows what is deployed while nothing was changed. */
const useDraft = (deployed: Files) => {
  const [draft, setDraft] = useState({ deployed, files: editable(deployed), generation: 0 })
  const dirty = !same(draft.files, editable(draft.deployed))
  if (draft.deployed !== deployed) {
    const files = dirty ? draft.files : editable(deployed)
    setDraft({ deployed, files, generation: draft.generation + (dirty ? 0 : 1) })
  }
  return {
    ...draft,
    dirty,
    change: (change: (files: Files) => Files) => setDraft((now) => ({ ...now, files: change(now.files) })),
    discard: () => setDraft((now) => ({ ...now, files: editable(now.deployed), generation: now.generation + 1 }))
  }
}

const without = (files: Files, gone: string): Files =>
  Object.fromEntries(Object.entries(files).filter(([path]) => path !== gone))

/** The first place that an error of a deployment is about. */
const placeIn = (error: unknown, paths: ReadonlyArray<string>) => {
  const details = error instanceof ApiError && typeof error.body.details === "string" ? error.body.details : ""
  return piecesOf(details, paths).find((piece): piece is CodePlace => typeof piece !== "string")
}

/** The files of a function, and their deployment. */
export const Code = ({ deployed, name, options, ref }: CodeProps) => {
  const client = useQueryClient()
  const { change, dirty, discard, files, generation } = useDraft(deployed)
  const paths = Object.keys(files).toSorted()
  const [chosen, setPath] = useState(options.entrypoint)
  // Another version may not have the file.
  const path = files[chosen] === undefined ? options.entrypoint : chosen
  const [mark, setMark] = useState<Mark>()
  const [form, setForm] = useState<"add" | "rename">()
  useUnsaved(dirty ? "The code is not deployed. Leave anyway?" : undefined)

  const show = (place: CodePlace, message = "The error is here") => {
    setPath(place.path)
    setMark({ line: place.line, column: place.column, message })
  }
  useImperativeHandle(ref, () => ({ show: (place) => show(place) }))

  const { busy, failure, go } = useAction(async () => {
    setMark(undefined)
    try {
      const locked = deployed[lock] === undefined ? {} : { [lock]: deployed[lock] }
      const payload = { ...options, files: { ...files, ...locked } }
      const { version } = await call("PUT /api/functions/:name", { params: { name }, payload })
      toast(`Version ${version} deployed`)
      client.setQueryData(["functions", name, "files", version], payload.files)
      await client.invalidateQueries({ queryKey: ["functions"] })
    } catch (error) {
      const place = placeIn(error, paths)
      if (place !== undefined) show(place, error instanceof Error ? error.message : "")
      throw error
    }
  })
  const choose = (next: string) => {
    setPath(next)
    setMark(undefined)
  }
  const place = failure === undefined ? undefined : placeIn(failure, paths)
  const file = files[path]
  const keys = (event: KeyboardEvent<HTMLElement>) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
    const at = (paths.indexOf(path) + step + paths.length) % paths.length
    const next = paths[at]
    if (step === 0 || next === undefined) return
    event.preventDefault()
    choose(next)
    event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus()
  }
  return (
    <section className="part" aria-label="Code">
      <header>
        <h3>Code</h3>
        {dirty ? <span className="badge warn">not deployed</span> : null}
        {dirty ? <Button onClick={discard}>Discard</Button> : null}
        <Button kind="main" icon="upload" busy={busy} keys="Ctrl Enter" onClick={go}>
          Deploy
        </Button>
      </header>
      <div className="function-files">
        {/* oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- its tabs have the focus */}
        <div role="tablist" aria-label="Files" onKeyDown={keys}>
          {paths.map((one) => (
            <button
              key={one}
              type="button"
              role="tab"
              aria-selected={one === path}
              aria-controls="function-file"
              tabIndex={one === path ? 0 : -1}
              onClick={() => choose(one)}
            >
              {one}
            </button>
          ))}
        </div>
        <Button kind="quiet" icon="plus" label="Add file" onClick={() => setForm("add")} />
        {path === options.entrypoint ? null : (
          <>
            <Button kind="quiet" label={`Rename ${path}`} onClick={() => setForm("rename")}>
              Rename
            </Button>
            <Button
              kind="quiet"
              icon="trash"
              label={`Remove ${path}`}
              onClick={() => {
                change((all) => without(all, path))
                choose(options.entrypoint)
              }}
            />
          </>
        )}
      </div>
      <div id="function-file" role="tabpanel" aria-label={path} className="function-code">
        {typeof file === "string" ? (
          <CodeEditor
            key={`${generation} ${path}`}
            path={path}
            text={file}
            mark={mark}
            onChange={(text) => change((all) => ({ ...all, [path]: text }))}
            onDeploy={go}
          />
        ) : (
          <p className="hint">This file is no text. It is deployed as it is.</p>
        )}
      </div>
      {failure === undefined ? null : (
        <Problem error={failure} title="The function was not deployed">
          {place === undefined ? null : (
            <Button
              onClick={() => {
                setMark(undefined)
                show(place, failure instanceof Error ? failure.message : "")
              }}
            >
              {`Show ${place.path}:${place.line}`}
            </Button>
          )}
        </Problem>
      )}
      {form === undefined ? null : (
        <FileForm
          path={form === "add" ? undefined : path}
          taken={paths}
          onClose={() => setForm(undefined)}
          onPath={(next) => {
            change((all) => (form === "add" ? { ...all, [next]: "" } : { ...without(all, path), [next]: file ?? "" }))
            choose(next)
            setForm(undefined)
          }}
        />
      )}
    </section>
  )
}
