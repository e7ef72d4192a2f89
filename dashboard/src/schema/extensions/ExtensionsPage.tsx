import "../schema.css"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { dropExtensionSql } from "../../catalogue/sql/extensions.ts"
import { Button } from "../../ui/Button.tsx"
import { Empty, Skeleton } from "../../ui/Empty.tsx"
import { List, type ListColumn } from "../../ui/List.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { type Drop, DropObject } from "../forms/parts.tsx"
import { CreateExtension, UpdateExtension } from "./ExtensionForms.tsx"
import { type Extension, extensionDocs, needsPreload, useExtensions, wellKnown } from "./queries.ts"

type Open =
  | { readonly tag: "create"; readonly extension: Extension }
  | { readonly tag: "update"; readonly extension: Extension }
  | { readonly tag: "drop"; readonly drop: Drop }

const dropOf = ({ name }: Extension): Drop => ({
  what: "extension",
  name,
  named: true,
  cascades: "Drop what depends on it, too, such as columns of its types (cascade)",
  sql: (cascade) => dropExtensionSql(name, cascade),
  words: "Its functions, types and tables go. Without cascade, PostgreSQL refuses while something uses them."
})

const installedColumns = (act: (open: Open) => void): ReadonlyArray<ListColumn<Extension>> => [
  { name: "Extension", cell: ({ name }) => <b>{name}</b> },
  { name: "What it is", cell: ({ comment }) => comment },
  { name: "Schema", cell: ({ schema }) => <code>{schema}</code> },
  {
    name: "Version",
    cell: ({ installed, offered, updates }) => (
      <>
        {installed}{" "}
        {offered === null ? (
          <span className="badge warn">its files are gone</span>
        ) : updates.length > 0 && updates[0] === offered ? (
          <span className="badge accent">{offered} is there</span>
        ) : null}
      </>
    )
  },
  {
    name: "Actions",
    actions: true,
    cell: (extension) => (
      <>
        {extension.updates.length === 0 ? null : (
          <Button kind="quiet" onClick={() => act({ tag: "update", extension })}>
            Update
          </Button>
        )}
        {/* The service's own functions need plpgsql. */}
        {extension.schema === "pg_catalog" ? null : (
          <Button kind="quiet" onClick={() => act({ tag: "drop", drop: dropOf(extension) })}>
            Drop
          </Button>
        )}
      </>
    )
  }
]

type Needs = (extension: Extension) => ReadonlyArray<string>

const availableColumns = (act: (open: Open) => void, needs: Needs): ReadonlyArray<ListColumn<Extension>> => [
  { name: "Extension", cell: ({ name }) => <b>{name}</b> },
  {
    name: "What it is",
    cell: (extension) => (
      <>
        {extension.comment}
        {needs(extension).map((one) => (
          <small key={one} className="faint">
            {" "}
            {one}
          </small>
        ))}
      </>
    )
  },
  { name: "Version", cell: ({ offered }) => offered },
  {
    name: "Actions",
    actions: true,
    cell: (extension) => (
      <Button kind="quiet" icon="plus" onClick={() => act({ tag: "create", extension })}>
        Create
      </Button>
    )
  }
]

const missingColumns: ReadonlyArray<ListColumn<(typeof wellKnown)[number]>> = [
  { name: "Extension", cell: ([name]) => <b>{name}</b> },
  { name: "What it is", cell: ([, what]) => what },
  {
    name: "Documentation",
    cell: ([name, , docs]) => (
      <a href={docs} target="_blank" rel="noreferrer" aria-label={`Documentation of ${name}`}>
        {new URL(docs).host}
      </a>
    )
  }
]

interface PartProps {
  readonly title: string
  readonly children: ReactNode
}

const Part = ({ children, title }: PartProps) => (
  <section className="schema-others" aria-label={title}>
    <h3>{title}</h3>
    {children}
  </section>
)

const Body = ({ data }: { data: NonNullable<ReturnType<typeof useExtensions>["data"]> }) => {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false })
  const words = typeof search["find"] === "string" ? search["find"] : ""
  const navigate = useNavigate()
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const letters = words.toLowerCase().trim()
  const found = data.list.filter(({ comment, name }) => `${name} ${comment ?? ""}`.toLowerCase().includes(letters))
  const installed = found.filter((one) => one.installed !== null)
  const available = found.filter((one) => one.installed === null)
  const missing = wellKnown.filter(
    ([name, what]) => `${name} ${what}`.toLowerCase().includes(letters) && !data.list.some((one) => one.name === name)
  )
  const brought = (requires: Extension["requires"]) =>
    requires.filter((name) => !data.list.some((one) => one.name === name && one.installed !== null))
  const needs: Needs = ({ name, requires, superuser }) => [
    ...(superuser && !data.superuser ? ["Only a superuser of the database server may create it."] : []),
    ...(needsPreload.has(name) && !data.preloaded.includes(name)
      ? [`Needs ${name} in shared_preload_libraries, and a restart of PostgreSQL.`]
      : []),
    ...(brought(requires).length === 0 ? [] : [`Brings ${brought(requires).join(", ")} along.`])
  ]
  return (
    <>
      <div className="schema-bar">
        <input
          className="field"
          type="search"
          placeholder="Find an extension"
          aria-label="Find an extension"
          value={words}
          onChange={({ target: { value } }) =>
            void navigate({ to: "/extensions", replace: true, search: value === "" ? {} : { find: value } })
          }
        />
      </div>
      {installed.length + available.length + missing.length > 0 ? null : (
        <Empty icon="extension" title="No extension matches">
          The database server has no files of an extension with these letters. Once its package is installed there, it
          can be created here.
        </Empty>
      )}
      {installed.length === 0 ? null : (
        <Part title="In this database">
          <List label="Extensions" columns={installedColumns(setOpen)} rows={installed} keyOf={({ name }) => name} />
        </Part>
      )}
      {available.length === 0 ? null : (
        <Part title="Available">
          <List
            label="Available extensions"
            columns={availableColumns(setOpen, needs)}
            rows={available}
            keyOf={({ name }) => name}
          />
        </Part>
      )}
      {missing.length === 0 ? null : (
        <Part title="Not on this server">
          <p className="lead">
            An extension needs files on the database server: its package, or for the embedded PostgreSQL a directory in{" "}
            <code>SVC_PG_EXTENSIONS</code>.{" "}
            <a href={extensionDocs} target="_blank" rel="noreferrer">
              How extensions are installed
            </a>
          </p>
          <List label="Missing extensions" columns={missingColumns} rows={missing} keyOf={([name]) => name} />
        </Part>
      )}
      {open?.tag === "create" ? (
        <CreateExtension
          extension={open.extension}
          schemas={data.schemas}
          needs={needs(open.extension)}
          onClose={close}
        />
      ) : null}
      {open?.tag === "update" ? <UpdateExtension extension={open.extension} onClose={close} /> : null}
      {open?.tag === "drop" ? <DropObject drop={open.drop} onClose={close} /> : null}
    </>
  )
}

export const ExtensionsPage = () => {
  const extensions = useExtensions()
  return (
    <div className="page">
      <div className="page-head">
        <h2>Extensions</h2>
      </div>
      {extensions.isLoadingError ? (
        <Problem
          error={extensions.error}
          title="The extensions could not be read"
          onRetry={() => void extensions.refetch()}
        />
      ) : extensions.data === undefined ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : (
        <Body data={extensions.data} />
      )}
    </div>
  )
}
