import "./status.css"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { MainOnly } from "../ui/page/MainOnly.tsx"
import { type Component, componentNames, useComponent } from "./components.ts"
import { Database } from "./Database.tsx"
import { TimeCharts } from "./charts/TimeCharts.tsx"
import { Requests } from "./Requests.tsx"
import { SettingsList } from "./SettingsList.tsx"

const words: Readonly<Record<Component["state"], readonly [kind: string, word: string]>> = {
  ok: ["good", "works"],
  off: ["", "not configured"],
  down: ["bad", "does not work"],
  unknown: ["", "checking…"]
}

const Card = ({ name }: { name: string }) => {
  const { about, state } = useComponent(name)
  const [kind, word] = words[state]
  return (
    <li className={state}>
      <div>
        <h3>{name}</h3>
        <span className={`badge ${kind}`}>{word}</span>
      </div>
      <p>{about}</p>
    </li>
  )
}

export const StatusPage = () => (
  <div className="page">
    <div className="page-head">
      <h2>Status</h2>
      <CopyRequest path="/v1/status" />
    </div>
    <MainOnly>Sizes, connections and statements are those of the branch; all else is about the service.</MainOnly>
    <ul className="components" aria-label="Components">
      {componentNames.map((name) => (
        <Card key={name} name={name} />
      ))}
    </ul>
    <Requests />
    <TimeCharts />
    <Database />
    <SettingsList />
  </div>
)
