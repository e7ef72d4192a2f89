import { Link } from "@tanstack/react-router"
import { ago, bytes, moment } from "../ui/format.ts"
import { Icon } from "../ui/Icon.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import type { ObjectEntry } from "./queries.ts"

/** A folder ends with a slash, and has no object of its own. */
interface Entry {
  readonly key: string
  readonly object: ObjectEntry | undefined
}

interface ObjectListProps {
  readonly bucket: string
  readonly prefix: string
  readonly folders: ReadonlyArray<string>
  readonly objects: ReadonlyArray<ObjectEntry>
  readonly picked: ReadonlySet<string>
  readonly onPick: (picked: ReadonlySet<string>) => void
  readonly onShow: (key: string) => void
}

export const ObjectList = ({ bucket, folders, objects, onPick, onShow, picked, prefix }: ObjectListProps) => {
  const entries: ReadonlyArray<Entry> = [
    ...folders.map((key) => ({ key, object: undefined })),
    ...objects.map((object) => ({ key: object.key, object }))
  ]
  // An object whose key is that of the folder itself has no name in it.
  const nameOf = (key: string) => (key === prefix ? "(this folder)" : key.slice(prefix.length))
  const toggle = (key: string) => {
    const next = new Set(picked)
    if (!next.delete(key)) next.add(key)
    onPick(next)
  }
  const columns: ReadonlyArray<ListColumn<Entry>> = [
    {
      name: "Select",
      actions: true,
      cell: ({ key }) => (
        <input
          type="checkbox"
          aria-label={`Select ${nameOf(key)}`}
          checked={picked.has(key)}
          onChange={() => toggle(key)}
        />
      )
    },
    {
      name: "Name",
      cell: ({ key, object }) =>
        object === undefined ? (
          <Link className="storage-name" to="/storage/$bucket" params={{ bucket }} search={{ prefix: key }}>
            <Icon name="storage" /> <span>{nameOf(key)}</span>
          </Link>
        ) : (
          <button type="button" className="storage-name link" onClick={() => onShow(key)}>
            <Icon name="docs" /> <span>{nameOf(key)}</span>
          </button>
        )
    },
    { name: "Size", end: true, cell: ({ object }) => (object === undefined ? "" : bytes(object.size)) },
    {
      name: "Changed",
      cell: ({ object }) =>
        object === undefined ? (
          ""
        ) : (
          <time dateTime={object.last_modified} title={moment(object.last_modified)}>
            {ago(object.last_modified)}
          </time>
        )
    }
  ]
  const all = entries.length > 0 && entries.every(({ key }) => picked.has(key))
  return (
    <>
      <label className="storage-all">
        <input
          type="checkbox"
          checked={all}
          onChange={() => onPick(new Set(all ? [] : entries.map(({ key }) => key)))}
        />
        Select all that are shown
      </label>
      <List label="Files" columns={columns} rows={entries} keyOf={({ key }) => key} />
    </>
  )
}
