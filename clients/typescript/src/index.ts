/** A typed client of graphmem. */

export * from "./client.js";
export {
  Conflict,
  CutOff,
  CypherRefused,
  type Fetch,
  GraphmemError,
  InvalidInput,
  NotFound,
  type Problem,
  TooMany,
  Unauthorized,
  Unavailable,
} from "./connection.js";
export type { components, operations, paths } from "./openapi.js";
