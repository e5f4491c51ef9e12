"""The names of record types, and which types describe the session."""

from perf2x.base.abi import RecordType, SimpleperfRecordType, UserRecordType

# Names of record types, without PERF_RECORD_.
RECORD_NAMES = {
    int(kind): kind.name for family in (RecordType, UserRecordType, SimpleperfRecordType) for kind in family
}

# These describe the session: header sections, which a pipe has as records, and how the tool was set up.
SESSION_RECORDS = frozenset(
    {
        UserRecordType.HEADER_ATTR,
        UserRecordType.HEADER_EVENT_TYPE,
        UserRecordType.HEADER_BUILD_ID,
        UserRecordType.EVENT_UPDATE,
        UserRecordType.HEADER_FEATURE,
        UserRecordType.AUXTRACE_INFO,
        UserRecordType.TIME_CONV,
        UserRecordType.THREAD_MAP,
        UserRecordType.STAT_CONFIG,
        SimpleperfRecordType.SIMPLEPERF_EVENT_ID,
    }
)
