import "./workspace.css"
import { useQueryClient } from "@tanstack/react-query"
import { type FormEvent, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { Field, Switch } from "../ui/Field.tsx"
import { useAction } from "../ui/FormDialog.tsx"
import { Notice } from "../ui/page/Notice.tsx"
import { toast, toastError, toastUndo } from "../ui/toast.ts"
import { ApiError } from "../wire/ApiError.ts"
import {
  changeItem,
  type Content,
  createItem,
  type Entry,
  type Item,
  itemsChanged,
  type Listed,
  longestName,
  readItem,
  removeItem,
  useItems
} from "./items.ts"

interface KeepProps {
  readonly of: Listed
  /** Such as "query". */
  readonly noun: string
  /** What the list is called. */
  readonly label: string
  readonly name: string
  /** What would be saved; undefined: nothing. */
  readonly content: Content | undefined
  /** The item that was opened, at its revision. */
  readonly opened: Pick<Entry, "id" | "revision"> | undefined
  readonly onSaved: (item: Item) => void
  readonly onOpen: (item: Item) => void
  readonly close: () => void
}

const isOutdated = (error: unknown) => error instanceof ApiError && error.status === 412

/** Saves what the page shows under a name, and lists what is saved: one's own, and what others share. */
export const Keep = ({ close, content, label, name: first, noun, of, onOpen, onSaved, opened }: KeepProps) => {
  const client = useQueryClient()
  const items = useItems(of)
  const [name, setName] = useState(first)
  const [chosen, setShared] = useState<boolean>()
  /** The revision that another page has saved meanwhile, which has been shown. */
  const [newer, setNewer] = useState<number>()
  const there = items.data?.find((one) => one.mine && one.name === name.trim())
  const shared = chosen ?? there?.shared ?? false
  const changed = () => itemsChanged(client)
  const { busy, failure, go } = useAction(async () => {
    if (content === undefined) return
    const given = { name: name.trim(), shared, content }
    // An item that was opened must be the one that is replaced, unless its change has been shown.
    const revision = there?.id === opened?.id && newer === undefined ? opened?.revision : there?.revision
    try {
      const item =
        there === undefined
          ? await createItem(given)
          : await changeItem({ id: there.id, revision: revision ?? there.revision }, given)
      onSaved(item)
      toast(`${given.name} saved${item.shared ? " and shared" : ""}`)
      close()
    } catch (error) {
      if (isOutdated(error)) setNewer(there?.revision)
      throw error
    } finally {
      await changed()
    }
  })
  const save = (event: FormEvent) => {
    event.preventDefault()
    if (!busy && name.trim() !== "" && content !== undefined) go()
  }
  const share = ({ id, revision, shared }: Entry) =>
    changeItem({ id, revision }, { shared: !shared }).catch(toastError).finally(changed)
  const remove = async (entry: Entry) => {
    const undo = await removeItem(entry)
    toastUndo(`${entry.name} removed`, () => void undo().catch(toastError).finally(changed))
  }
  const open = async ({ id }: Entry) => {
    const item = await readItem(id)
    close()
    onOpen(item)
  }
  return (
    <div className="keep">
      <form onSubmit={save}>
        <div className="keep-name">
          <Field
            label={`Save this ${noun} as`}
            value={name}
            maxLength={longestName}
            autoComplete="off"
            onText={setName}
          />
          <Button kind="main" type="submit" busy={busy} disabled={name.trim() === "" || content === undefined}>
            {there === undefined ? "Save" : newer === undefined ? "Replace" : "Replace all the same"}
          </Button>
        </div>
        <Switch checked={shared} onChange={setShared}>
          Share with the team
        </Switch>
        {failure === undefined ? null : (
          <p className="field-problem" role="alert">
            {isOutdated(failure)
              ? `${name.trim()} was changed elsewhere meanwhile: open it, or replace it all the same`
              : failure instanceof Error
                ? failure.message
                : String(failure)}
          </p>
        )}
      </form>
      {items.isLoadingError ? (
        <Notice error={items.error} title="What is saved could not be read" onRetry={() => void items.refetch()} />
      ) : items.data === undefined ? (
        <Skeleton lines={[70, 50, 60]} />
      ) : items.data.length === 0 ? (
        <p className="hint">
          Nothing is saved yet. What you share, all administrators can open; only you can change it.
        </p>
      ) : (
        <ul aria-label={label}>
          {items.data.map((entry) => (
            <li key={entry.id}>
              <button type="button" onClick={() => void open(entry).catch(toastError)}>
                {entry.name}
                {entry.mine ? (
                  entry.shared ? (
                    <small>shared</small>
                  ) : null
                ) : (
                  <small>of {entry.owner.label === "" ? `a ${entry.owner.type}` : entry.owner.label}</small>
                )}
              </button>
              {entry.mine ? (
                <Button
                  kind="quiet"
                  icon={entry.shared ? "lock" : "users"}
                  label={entry.shared ? `Stop sharing ${entry.name}` : `Share ${entry.name}`}
                  onClick={() => void share(entry)}
                />
              ) : null}
              {entry.changeable ? (
                <Button
                  kind="quiet"
                  icon="trash"
                  label={`Remove ${entry.name}`}
                  onClick={() => void remove(entry).catch(toastError).finally(changed)}
                />
              ) : null}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
