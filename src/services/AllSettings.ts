import { Layer } from "effect"
import { keyOutage } from "./access/Keys.ts"
import { auditDays } from "./audit/Retention.ts"
import { BackupSettings } from "./backups/Settings.ts"
import { BranchSettings } from "./branches/Settings.ts"
import { ExposedSchemas } from "./catalogue/ExposedSchemas.ts"
import { changeSettings } from "./changes/Settings.ts"
import { ConnectionSettings } from "./connections/Settings.ts"
import { DashboardSettings } from "./dashboard/Settings.ts"
import { EnvironmentSettings } from "./environments/Settings.ts"
import { ExampleSettings } from "./example/Settings.ts"
import { FlagSettings } from "./flags/Settings.ts"
import { FunctionSettings } from "./functions/Settings.ts"
import { AccountSettings } from "./identity/AccountSettings.ts"
import { BrandSettings } from "./identity/Brand.ts"
import { IdentitySettings } from "./identity/Settings.ts"
import { McpSettings } from "./mcp/Settings.ts"
import { MigrationSettings } from "./migrations/Settings.ts"
import { RealtimeSettings } from "./realtime/Settings.ts"
import { accessLog } from "./requests/AccessLog.ts"
import { RecoverySettings } from "./recovery/Settings.ts"
import { RowSettings } from "./rows/Settings.ts"
import { fileStore } from "./supabase/FileBytes.ts"
import { maxFileBytes } from "./supabase/Files.ts"
import { SupabaseSettings } from "./supabase/Settings.ts"
import { uploadDays } from "./storage/UploadExpiry.ts"
import { consoleUrl } from "./Status.ts"
import { ScheduleSettings } from "./schedules/Settings.ts"
import { WebhookSettings } from "./webhooks/Settings.ts"

/** All settings, so that invalid ones are reported before anything is started. */
export const layerAllSettings = Layer.mergeAll(
  AccountSettings.layer,
  BackupSettings.layer,
  BranchSettings.layer,
  BrandSettings.layer,
  ConnectionSettings.layer,
  DashboardSettings.layer,
  EnvironmentSettings.layer,
  ExampleSettings.layer,
  ExposedSchemas.layer,
  FlagSettings.layer,
  FunctionSettings.layer,
  IdentitySettings.layer,
  McpSettings.layer,
  MigrationSettings.layer,
  RealtimeSettings.layer,
  RecoverySettings.layer,
  RowSettings.layer,
  SupabaseSettings.layer,
  ScheduleSettings.layer,
  WebhookSettings.layer,
  Layer.effectDiscard(changeSettings),
  Layer.effectDiscard(accessLog),
  Layer.effectDiscard(auditDays),
  Layer.effectDiscard(keyOutage),
  Layer.effectDiscard(uploadDays),
  Layer.effectDiscard(fileStore),
  Layer.effectDiscard(maxFileBytes),
  Layer.effectDiscard(consoleUrl)
)
