import { ddlRightsSql } from "../../../domain/catalogue/DdlSql.ts"
import { statements } from "./statements.ts"

/** Takes back what default privileges of the database have granted on the record of DDL. */
export const ddlRights = statements(ddlRightsSql)
