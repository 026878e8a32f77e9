import type { Row } from './interface-rows.ts';
export const endpointRows: readonly Row[] = [];
