import type { Row } from './interface-rows.ts';
export const ruleRows: readonly Row[] = [];
