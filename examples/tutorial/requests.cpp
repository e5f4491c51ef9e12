// Bytes that a web server sent for each path, without requests from blocked addresses.
#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using Addresses = std::vector<std::string>;

std::string address(int number) {
    return "10.0." + std::to_string(number / 250) + "." + std::to_string(number % 250);
}

std::string request(int number) {
    return address(number % 4000 * 7919 % 4000) + " GET /item/" + std::to_string(number % 100) + " 200 " + std::to_string(number % 1500);
}

bool is_blocked(const Addresses& blocked, const std::string& from) {
    return std::find(blocked.begin(), blocked.end(), from) != blocked.end();
}

std::map<std::string, long> bytes_by_path(const Addresses& blocked, int requests) {
    std::map<std::string, long> bytes;
    for (int number = 0; number < requests; ++number) {
        std::istringstream line(request(number));
        std::string from, method, path;
        long status, size;
        line >> from >> method >> path >> status >> size;
        if (!is_blocked(blocked, from)) bytes[path] += size;
    }
    return bytes;
}

int main() {
    Addresses blocked;
    for (int number = 0; number < 4000; number += 2) blocked.push_back(address(number));
    long sum = 0;
    for (const auto& [path, bytes] : bytes_by_path(blocked, 1'000'000)) sum += bytes;
    std::cout << sum << " bytes\n";
}
