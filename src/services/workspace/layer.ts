import { Layer } from "effect"
import { WorkspaceItems } from "./Items.ts"
import { layerWorkspaceRetention, WorkspaceStatements } from "./Statements.ts"

/** What people keep in the dashboard. */
export const layer = Layer.mergeAll(WorkspaceItems.layer, WorkspaceStatements.layer, layerWorkspaceRetention)
