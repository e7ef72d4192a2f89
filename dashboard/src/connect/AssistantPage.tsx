import "./connect.css"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { useSettings, valueOf } from "../catalogue/settings.ts"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { Problem } from "../ui/Problem.tsx"
import { Segments } from "../ui/page/Segments.tsx"
import { withKey } from "./ask.ts"
import { NewKey } from "./NewKey.tsx"
import { assistants, assistantSettings } from "./programs.ts"
import { Snippet } from "./Snippet.tsx"

/** What the assistant may do (SVC_MCP). */
const may: Readonly<Record<string, string>> = {
  read: "It reads tables, rows, plans and the documentation, and runs SQL that only reads.",
  branches: "It reads, and changes branches that it has created; the main database stays as it is.",
  write: "It may also change and delete anything in the main database that its key can."
}

/** Requests per minute of a key for an assistant. */
const limit = 60

/** The tools that the key has. */
const check = async (secret: string) => {
  const answer = (await withKey(
    "/mcp",
    { authorization: `Bearer ${secret}` },
    { jsonrpc: "2.0", id: 1, method: "tools/list" }
  )) as { readonly result?: { readonly tools: ReadonlyArray<{ readonly name: string }> } }
  const names = (answer.result?.tools ?? []).map(({ name }) => name)
  return `The assistant has ${names.length} tools: ${names.join(", ")}.`
}

export const AssistantPage = () => {
  const settings = useSettings()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { readonly assistant?: string; readonly rights?: string }
  const [keys, setKeys] = useState<Readonly<Record<string, string>>>({})
  const assistant = assistants.find(([one]) => one === search.assistant)?.[0] ?? "claude"
  const type = search.rights === "anon" ? "anon" : "service_role"
  const go = (next: { readonly assistant?: string; readonly rights?: string }) =>
    void navigate({ to: ".", search: { assistant, rights: type, ...next }, replace: true })
  const head = (
    <div className="page-head">
      <h2>Connect an assistant</h2>
    </div>
  )
  if (settings.isPending || settings.isError) {
    return (
      <div className="page">
        {head}
        {settings.isError ? (
          <Problem
            error={settings.error}
            title="The settings could not be read"
            onRetry={() => void settings.refetch()}
          />
        ) : (
          <Skeleton lines={[100, 60]} />
        )}
      </div>
    )
  }
  const mode = valueOf(settings.data, "SVC_MCP")
  const words = may[mode]
  if (words === undefined) {
    return (
      <div className="page">
        {head}
        <Empty icon="key" title="Assistants are off">
          Set <code>SVC_MCP=read</code> and restart the service: then editors and agents can read tables and run SQL
          that only reads, each with the rights of its key.
        </Empty>
      </div>
    )
  }
  const { place, text } = assistantSettings(assistant, {
    origin: location.origin,
    key: keys[type],
    type,
    table: undefined
  })
  return (
    <div className="page">
      {head}
      <p className="lead">
        An editor or agent gets tools on this database at <code>{`${location.origin}/mcp`}</code>, with the rights of
        its key. {words}
      </p>
      <section className="part" aria-label="Key">
        <header>
          <h3>1. A key</h3>
        </header>
        <Segments
          label="Rights"
          options={[
            ["service_role", "All rows, and SQL"],
            ["anon", "What an anon key may read"]
          ]}
          value={type}
          onValue={(rights) => go({ rights })}
        />
        <NewKey
          key={type}
          type={type}
          label="assistant"
          limit={limit}
          secret={keys[type]}
          onSecret={(secret) => setKeys({ ...keys, [type]: secret })}
          check={check}
        />
        <p className="hint">
          The key is limited to {limit} requests a minute. What the assistant changes is recorded under its label.
        </p>
      </section>
      <section className="part" aria-label="Assistant">
        <header>
          <h3>2. The assistant</h3>
        </header>
        <Segments label="Assistant" options={assistants} value={assistant} onValue={(assistant) => go({ assistant })} />
        <p className="hint">{place}</p>
        <Snippet label="Settings" text={text} />
        <p className="hint">Rows can contain instructions that a model follows. Start with the least rights that do.</p>
      </section>
    </div>
  )
}
